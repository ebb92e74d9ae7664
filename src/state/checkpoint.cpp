#include "state/checkpoint.h"

#include "base/error.h"
#include "state/gguf_header.h"
#include "state/safetensors_header.h"
#include "state/safetensors_index.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace parhelion::state {
namespace {

namespace fs = std::filesystem;

/// The names of `from` that `other` lacks. Both are sorted.
std::vector<std::string> names_beyond(const std::vector<std::string>& from,
                                      const std::vector<std::string>& other) {
  std::vector<std::string> beyond;
  std::ranges::set_difference(from, other, std::back_inserter(beyond));
  return beyond;
}

/// Refuses a shard whose tensors are not those which the index says.
void check_shard(const std::vector<TensorView>& tensors, const std::vector<std::string>& indexed,
                 const std::string& where) {
  std::vector<std::string> present;
  present.reserve(tensors.size());
  for (const TensorView& tensor : tensors) present.push_back(tensor.name);
  std::ranges::sort(present);
  const auto missing = names_beyond(indexed, present);
  ensure(missing.empty(), ErrorKind::corrupt, "{}: lacks tensors that the index places in it: {}",
         where, names_text(missing));
  const auto unknown = names_beyond(present, indexed);
  ensure(unknown.empty(), ErrorKind::corrupt,
         "{}: has tensors that the index does not place in it: {}", where, names_text(unknown));
}

Checkpoint open_file(const fs::path& path) {
  std::vector<MappedFile> files;
  files.emplace_back(path);
  if (is_gguf(files.front().bytes())) {
    GgufFile gguf = parse_gguf(files.front().bytes(), path.string());
    return {path.string(), std::move(files), std::move(gguf.tensors), std::move(gguf.metadata)};
  }
  auto tensors = parse_safetensors(files.front().bytes(), path.string());
  return {path.string(), std::move(files), std::move(tensors)};
}

Checkpoint open_sharded(const fs::path& directory, const fs::path& index_path) {
  const auto index = parse_safetensors_index(read_file(index_path), index_path.string());
  std::vector<MappedFile> files;
  std::vector<TensorView> tensors;
  for (const auto& [shard, indexed] : index) {
    const fs::path path = directory / shard;
    ensure(fs::exists(path), ErrorKind::invalid, "{}: is missing, but {} names it", path.string(),
           index_path.string());
    files.emplace_back(path);
    auto found = parse_safetensors(files.back().bytes(), path.string());
    check_shard(found, indexed, path.string());
    std::ranges::move(found, std::back_inserter(tensors));
  }
  return {directory.string(), std::move(files), std::move(tensors)};
}

Checkpoint open_directory(const fs::path& directory, std::string_view stem) {
  const fs::path index = directory / safetensors_index_name(stem);
  if (fs::exists(index)) return open_sharded(directory, index);
  const fs::path single = directory / safetensors_single_name(stem);
  ensure(fs::exists(single), ErrorKind::invalid, "{}: has neither {} nor {}", directory.string(),
         index.filename().string(), single.filename().string());
  return open_file(single);
}

}  // namespace

Checkpoint::Checkpoint(std::string where, std::vector<MappedFile> files,
                       std::vector<TensorView> tensors, std::optional<GgufMetadata> metadata)
    : where_(std::move(where)),
      files_(std::move(files)),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)),
      by_name_(tensors_.size()) {
  const auto name = [this](std::size_t i) -> const std::string& { return tensors_[i].name; };
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {}, name);
  const auto repeated = std::ranges::adjacent_find(by_name_, {}, name);
  ensure(repeated == by_name_.end(), ErrorKind::corrupt, "{}: tensor '{}' occurs twice", where_,
         repeated == by_name_.end() ? "" : name(*repeated));
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const TensorView& tensor : tensors_) names.push_back(tensor.name);
  return names;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto key = [this](std::size_t i) { return std::string_view(tensors_[i].name); };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, key);
  return at == by_name_.end() || key(*at) != name ? nullptr : &tensors_[*at];
}

const TensorView& Checkpoint::at(std::string_view name) const {
  const TensorView* tensor = find(name);
  ensure(tensor != nullptr, ErrorKind::invalid, "{}: has no tensor '{}'", where_, name);
  return *tensor;
}

std::string safetensors_index_name(std::string_view stem) {
  return fmt::format("{}.safetensors.index.json", stem);
}

std::string safetensors_single_name(std::string_view stem) {
  return fmt::format("{}.safetensors", stem);
}

Checkpoint open_checkpoint(const fs::path& path, std::string_view stem) {
  ensure(fs::exists(path), ErrorKind::invalid, "{}: is missing", path.string());
  return fs::is_directory(path) ? open_directory(path, stem) : open_file(path);
}

}  // namespace parhelion::state
