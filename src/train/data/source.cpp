#include "train/data/source.h"

#include <algorithm>

namespace parhelion::train {
namespace {

DataFormat format_of(const std::filesystem::path& file, DataFormat format) {
  if (format != DataFormat::automatic) return format;
  return file.extension() == ".jsonl" ? DataFormat::jsonl : DataFormat::text;
}

std::string_view without_byte_order_mark(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return bytes.starts_with(kByteOrderMark) ? bytes.substr(kByteOrderMark.size()) : bytes;
}

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::vector<SourceFile> open_sources(std::span<const std::filesystem::path> files,
                                     DataFormat format) {
  std::vector<SourceFile> sources;
  for (const auto& file : files) sources.push_back({MappedFile(file), format_of(file, format)});
  return sources;
}

SourceText SourceFile::text() const {
  const auto bytes = file.bytes();
  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, format};
}

std::optional<RawRow> RowReader::next() {
  while (true) {
    while (!left_.empty()) {
      const RawRow row = next_line();
      if (!is_blank_line(row.bytes)) return row;
    }
    if (++file_ >= std::ssize(sources_)) return std::nullopt;
    const SourceText& source = sources_[static_cast<std::size_t>(file_)];
    const std::string_view text = without_byte_order_mark(source.bytes);
    if (source.format == DataFormat::text) return RawRow{{file_, 0}, DataFormat::text, text};
    left_ = text;
    line_ = 0;
  }
}

RawRow RowReader::next_line() {
  const std::size_t end = std::min(left_.find('\n'), left_.size());
  const RawRow row{{file_, ++line_}, DataFormat::jsonl, left_.substr(0, end)};
  left_.remove_prefix(std::min(end + 1, left_.size()));
  return row;
}

}  // namespace parhelion::train
