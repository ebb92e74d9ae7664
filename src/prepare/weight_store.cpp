#include "prepare/weight_store.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/write_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace parhelion::prepare {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 32;

std::string hash_of_text(std::string_view text) {
  return hex(hash128(std::as_bytes(std::span(text))));
}

/// A line of the list: the hash of what follows, and that.
std::string line_of(const StoredWeight& weight) {
  const contract::PrecisionEntry& entry = weight.entry;
  Json::Array sources;
  for (const std::string& source : entry.sources) sources.emplace_back(source);
  const std::string text = write_json(Json::Object{{"weight", entry.weight},
                                                   {"sources", std::move(sources)},
                                                   {"from", entry.from},
                                                   {"to", entry.to},
                                                   {"transform", entry.transform},
                                                   {"changes_values", entry.changes_values},
                                                   {"largest_error", entry.largest_error},
                                                   {"non_finite", entry.non_finite},
                                                   {"offset", weight.offset},
                                                   {"bytes", weight.bytes},
                                                   {"hash", weight.hash}});
  return fmt::format("{} {}\n", hash_of_text(text), text);
}

/// What a line whose hash is right says.
StoredWeight parse_line(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where);
  const auto field = [&](std::string_view name) -> const Json& {
    const Json* value = json.find(name);
    ensure(value != nullptr, ErrorKind::corrupt, "{}: has no {}", where, name);
    return *value;
  };
  const auto string = [&](std::string_view name) { return field(name).as_string(name); };
  StoredWeight weight{.offset = field("offset").as_int64("offset"),
                      .bytes = field("bytes").as_int64("bytes"),
                      .hash = string("hash")};
  contract::PrecisionEntry& entry = weight.entry;
  entry.weight = string("weight");
  for (const Json& source : field("sources").as_array("sources"))
    entry.sources.push_back(source.as_string("sources"));
  entry.from = string("from");
  entry.to = string("to");
  entry.transform = string("transform");
  entry.changes_values = field("changes_values").as_bool("changes_values");
  entry.largest_error = field("largest_error").as_double("largest_error");
  entry.non_finite = field("non_finite").as_int64("non_finite");
  return weight;
}

/// The weight of a line without its end, if all of it is as it was written.
std::optional<StoredWeight> weight_of(std::string_view line, std::string_view where) {
  if (line.size() <= kHashDigits + 1) return {};
  const std::string_view text = line.substr(kHashDigits + 1);
  if (line.substr(0, kHashDigits) != hash_of_text(text)) return {};
  return parse_line(text, where);
}

bool has_bytes_of(const StoredWeight& weight, std::int64_t offset,
                  std::span<const std::byte> file) {
  const bool inside = weight.offset == offset && weight.bytes >= 0 &&
                      weight.bytes <= std::ssize(file) - weight.offset;
  return inside &&
         weight.hash == hex(hash128(file.subspan(static_cast<std::size_t>(offset),
                                                 static_cast<std::size_t>(weight.bytes))));
}

}  // namespace

GrowingFile::GrowingFile(const fs::path& path, std::int64_t bytes) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  ensure(descriptor_ >= 0, kind_of_write_error(errno), "{}: cannot create: {}", path.string(),
         std::strerror(errno));
  if (::ftruncate(descriptor_, bytes) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  fail(kind_of_write_error(error), "{}: cannot cut: {}", path.string(), std::strerror(error));
}

GrowingFile::~GrowingFile() { ::close(descriptor_); }

void GrowingFile::append(std::span<const std::byte> bytes) { write_all(descriptor_, bytes, path_); }

WeightStore::Kept WeightStore::read_kept(const fs::path& bytes, const fs::path& list,
                                         const Tell& tell) {
  Kept kept;
  if (!fs::exists(bytes) || !fs::exists(list)) return kept;
  const std::string lines = read_file(list);
  const MappedFile file(bytes);
  std::int64_t offset = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    if (end == std::string::npos) return kept;  // it was being written when all ended
    const auto weight = weight_of(std::string_view(lines).substr(at, end - at), list.string());
    if (!weight || !has_bytes_of(*weight, offset, file.bytes())) {
      tell(fmt::format("{}: is damaged behind {} weights; the others are made anew", bytes.string(),
                       kept.weights.size()));
      return kept;
    }
    offset += weight->bytes;
    at = end + 1;
    kept.weights.push_back(*weight);
    kept.list_bytes = static_cast<std::int64_t>(at);
  }
  return kept;
}

WeightStore::WeightStore(const fs::path& directory, std::string_view key, const Tell& tell)
    : WeightStore(
          work_file(directory, key, "bytes"), work_file(directory, key, "list"),
          read_kept(work_file(directory, key, "bytes"), work_file(directory, key, "list"), tell)) {}

WeightStore::WeightStore(const fs::path& bytes, const fs::path& list, Kept kept)
    : path_(bytes),
      weights_(std::move(kept.weights)),
      taken_count_(std::ssize(weights_)),
      end_(weights_.empty() ? 0 : weights_.back().offset + weights_.back().bytes),
      bytes_(bytes, end_),
      list_(list, kept.list_bytes) {}

void WeightStore::append(std::span<const std::byte> bytes) {
  bytes_.append(bytes);
  open_bytes_ += std::ssize(bytes);
}

void WeightStore::end(contract::PrecisionEntry entry) {
  StoredWeight weight{.entry = std::move(entry), .offset = end_, .bytes = open_bytes_};
  {
    const MappedFile file(path_);
    weight.hash = hex(hash128(file.bytes().subspan(static_cast<std::size_t>(end_))));
  }
  const std::string line = line_of(weight);
  list_.append(std::as_bytes(std::span(line)));
  end_ += std::exchange(open_bytes_, 0);
  weights_.push_back(std::move(weight));
}

std::vector<contract::WeightView> WeightStore::views(const ir::Program& program) {
  mapped_ = std::make_unique<MappedFile>(path_);
  std::map<std::string_view, const ir::TensorType*> types;
  for (const ir::Buffer& buffer : program.buffers) types.emplace(buffer.name, &buffer.type);
  std::vector<contract::WeightView> views;
  for (const StoredWeight& weight : weights_)
    views.push_back({.name = weight.entry.weight,
                     .type = *types.at(weight.entry.weight),
                     .bytes = mapped_->bytes().subspan(static_cast<std::size_t>(weight.offset),
                                                       static_cast<std::size_t>(weight.bytes))});
  return views;
}

}  // namespace parhelion::prepare
