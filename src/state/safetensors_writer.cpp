#include "state/safetensors_writer.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "state/checkpoint.h"
#include "state/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

namespace parhelion::state {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSafetensorsAlignment = 64;

/// Refuses what a safetensors file cannot hold.
void check_writable(const TensorView& tensor) {
  ensure(dtype_of_kind(tensor.kind).has_value(), ErrorKind::unsupported,
         "tensor '{}': safetensors cannot hold {}", tensor.name, ir::name(tensor.kind));
  ensure(byte_count(tensor.kind, tensor.shape) == std::ssize(tensor.bytes), ErrorKind::invalid,
         "tensor '{}': has {} bytes, which is not {} {}", tensor.name, tensor.bytes.size(),
         ir::name(tensor.kind), shape_text(tensor.shape));
  ensure(tensor.name != "__metadata__", ErrorKind::invalid,
         "tensor '__metadata__': the format keeps this name for itself");
}

/// The order in a file: it keeps every tensor aligned, and makes the bytes independent of the order
/// of writing.
void order_for_writing(std::vector<TensorView>& tensors) {
  std::ranges::sort(tensors, [](const TensorView& a, const TensorView& b) {
    return std::tuple(-ir::element(a.kind).block_bytes, std::string_view(a.name)) <
           std::tuple(-ir::element(b.kind).block_bytes, std::string_view(b.name));
  });
}

Json safetensors_entry_json(const TensorView& tensor, std::int64_t begin) {
  Json::Array shape;
  for (const std::int64_t extent : tensor.shape) shape.emplace_back(extent);
  Json::Array offsets{Json(begin), Json(begin + std::ssize(tensor.bytes))};
  return Json::Object{{"dtype", Json(*dtype_of_kind(tensor.kind))},
                      {"shape", Json(std::move(shape))},
                      {"data_offsets", Json(std::move(offsets))}};
}

/// The header's length and text, filled up with blanks so that the data is aligned. Readers of
/// other frameworks ask for the format's name `pt`.
std::string safetensors_header_text(const std::vector<TensorView>& tensors) {
  Json::Object header{{"__metadata__", Json::Object{{"format", "pt"}}}};
  std::int64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    header.emplace_back(tensor.name, safetensors_entry_json(tensor, begin));
    begin += std::ssize(tensor.bytes);
  }
  std::string text = write_json(header);
  const std::size_t used = sizeof(std::uint64_t) + text.size();
  text.append((kSafetensorsAlignment - used % kSafetensorsAlignment) % kSafetensorsAlignment, ' ');
  ensure(std::ssize(text) <= kSafetensorsHeaderLimit, ErrorKind::invalid,
         "safetensors header has {} bytes, expected at most {}", text.size(),
         kSafetensorsHeaderLimit);
  const std::uint64_t length = text.size();
  std::string prefix(sizeof length, '\0');
  std::memcpy(prefix.data(), &length, sizeof length);
  return prefix + text;
}

}  // namespace

void write_safetensors(const fs::path& path, std::vector<TensorView> tensors) {
  std::ranges::for_each(tensors, check_writable);
  order_for_writing(tensors);
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorView& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  ensure(repeated == names.end(), ErrorKind::invalid, "{}: tensor '{}' occurs twice", path.string(),
         repeated == names.end() ? "" : *repeated);
  AtomicFile file(path);
  file.write(safetensors_header_text(tensors));
  for (const TensorView& tensor : tensors) file.write(tensor.bytes);
  file.commit();
}

SafetensorsWriter::SafetensorsWriter(fs::path directory, std::int64_t shard_bytes,
                                     std::string_view stem)
    : directory_(std::move(directory)), shard_bytes_(shard_bytes), stem_(stem) {
  ensure(shard_bytes_ > 0, ErrorKind::invalid, "shard size is {} bytes, expected more than 0",
         shard_bytes_);
  for (const std::string& name : {safetensors_index_name(stem_), safetensors_single_name(stem_)}) {
    ensure(!fs::exists(directory_ / name), ErrorKind::invalid, "{}: already holds {}",
           directory_.string(), name);
  }
  std::error_code error;
  made_directory_ = fs::create_directories(directory_, error);
  ensure(!error && fs::is_directory(directory_), ErrorKind::invalid,
         "{}: cannot make this directory: {}", directory_.string(),
         error ? error.message() : "a file has its name");
}

SafetensorsWriter::~SafetensorsWriter() {
  std::error_code ignored;
  for (const fs::path& shard : shards_) fs::remove(shard, ignored);
  if (made_directory_) fs::remove(directory_, ignored);  // succeeds only if it is empty
}

void SafetensorsWriter::add(TensorView tensor) {
  check_writable(tensor);
  const std::int64_t bytes = std::ssize(tensor.bytes);
  if (!pending_.empty() && pending_bytes_ + bytes > shard_bytes_) write_shard();
  const bool is_new = shard_of_.emplace(tensor.name, shards_.size()).second;
  ensure(is_new, ErrorKind::invalid, "{}: tensor '{}' is saved twice", directory_.string(),
         tensor.name);
  pending_bytes_ += bytes;
  total_bytes_ += bytes;
  pending_.push_back(std::move(tensor));
}

void SafetensorsWriter::write_shard() {
  const fs::path path = directory_ / fmt::format(".{}-{:05}.partial", stem_, shards_.size() + 1);
  write_safetensors(path, std::exchange(pending_, {}));
  shards_.push_back(path);
  pending_bytes_ = 0;
}

std::string SafetensorsWriter::final_name(std::size_t shard) const {
  if (shards_.size() == 1) return safetensors_single_name(stem_);
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem_, shard + 1, shards_.size());
}

Json SafetensorsWriter::index_json() const {
  Json::Object map;
  for (const auto& [tensor, shard] : shard_of_) map.emplace_back(tensor, Json(final_name(shard)));
  return Json::Object{{"metadata", Json::Object{{"total_size", total_bytes_}}},
                      {"weight_map", Json(std::move(map))}};
}

void SafetensorsWriter::publish() {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const fs::path path = directory_ / final_name(i);
    std::error_code error;
    fs::rename(shards_[i], path, error);
    ensure(!error, ErrorKind::invalid, "{}: cannot rename: {}", path.string(), error.message());
    shards_[i] = path;
  }
  sync_directory(directory_);
}

void SafetensorsWriter::finish() {
  if (!pending_.empty() || shards_.empty()) write_shard();
  if (shards_.size() == 1) {
    publish();
  } else {
    AtomicFile index(directory_ / safetensors_index_name(stem_));
    index.write(write_json(index_json()));
    publish();
    index.commit();
  }
  shards_.clear();
  made_directory_ = false;
}

}  // namespace parhelion::state
