#include "train/data/token_writer.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <utility>

namespace parhelion::train {
namespace {

template <class T>
std::span<const std::byte> bytes_of_values(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TokenWriter::TokenWriter(const std::filesystem::path& path, std::string key, std::int64_t files)
    : file_(path), key_(std::move(key)), file_documents_(static_cast<std::size_t>(files), 0) {
  put(std::as_bytes(std::span(kTokenFileMagic)));
  put(std::as_bytes(std::span(&kTokenFileVersion, 1)));
}

void TokenWriter::add(const Origin& origin, const TokenisedRow& row) {
  ensure(row.ids.size() >= 2, ErrorKind::bug, "token file: a document has {} tokens",
         row.ids.size());
  mark_learnt(row);
  put(bytes_of_values(row.ids));
  begins_.push_back(begins_.back() + row.ids.size());
  lines_.push_back(static_cast<std::uint64_t>(origin.line));
  ++file_documents_[static_cast<std::size_t>(origin.file)];
}

void TokenWriter::finish(const DataReport& report) {
  ensure(report.documents == std::ssize(lines_) &&
             static_cast<std::uint64_t>(report.tokens) == begins_.back(),
         ErrorKind::bug, "token file: the report has {} documents and {} tokens", report.documents,
         report.tokens);
  put_zeros();
  put(bytes_of_values(begins_));
  put(bytes_of_values(lines_));
  put(bytes_of_values(learnt_));
  put_zeros();
  const std::string index = write_json(
      Json::Object{{"key", key_},
                   {"files", Json::Array(file_documents_.begin(), file_documents_.end())},
                   {"report", as_json(report)}});
  const std::uint64_t size = index.size();
  put(std::as_bytes(std::span(index)));
  put(std::as_bytes(std::span(&size, 1)));
  write_block(waiting_);
  const std::array<std::uint64_t, 2> hash = {hash_.high, hash_.low};
  file_.write(std::as_bytes(std::span(hash)));
  file_.commit();
}

void TokenWriter::put(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min(kTokenFileBlockBytes - waiting_.size(), bytes.size());
    waiting_.insert(waiting_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    if (waiting_.size() < kTokenFileBlockBytes) return;
    write_block(waiting_);
    waiting_.clear();
  }
}

void TokenWriter::put_zeros() {
  constexpr std::array<std::byte, 8> kZeros = {};
  put(std::span(kZeros).first((8 - bytes_ % 8) % 8));
}

void TokenWriter::write_block(std::span<const std::byte> block) {
  if (block.empty()) return;
  hash_ = chain_hash(hash_, block);
  file_.write(block);
}

void TokenWriter::mark_learnt(const TokenisedRow& row) {
  learnt_.resize((begins_.back() + row.ids.size() + 7) / 8);
  for (const TokenRange& range : row.learnt) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const std::uint64_t token = begins_.back() + static_cast<std::uint64_t>(i);
      learnt_[token / 8] |= std::byte{1} << (token % 8);
    }
  }
}

}  // namespace parhelion::train
