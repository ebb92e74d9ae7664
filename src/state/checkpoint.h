#pragma once

#include "base/file.h"
#include "state/gguf_metadata.h"
#include "state/tensor.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// What the names of a model's safetensors files begin with, as Hugging Face names them.
inline constexpr std::string_view kModelStem = "model";

/// Where a directory lists its shards, `<stem>.safetensors.index.json`, or else has its only file,
/// `<stem>.safetensors`.
std::string safetensors_index_name(std::string_view stem = kModelStem);
std::string safetensors_single_name(std::string_view stem = kModelStem);

/// The tensors of a checkpoint whose files are mapped for this object's life.
///
/// Threads: any number may read. A file must not be shortened while it is mapped.
class Checkpoint {
 public:
  /// Takes tensors, whose views lie in `files`, in the order in which the files hold them.
  ///
  /// Errors: corrupt if a name occurs twice; `where` names the checkpoint.
  Checkpoint(std::string where, std::vector<MappedFile> files, std::vector<TensorView> tensors,
             std::optional<GgufMetadata> metadata = std::nullopt);

  /// The path it was opened by.
  const std::string& where() const { return where_; }
  /// In the order in which the files hold them.
  std::span<const TensorView> tensors() const { return tensors_; }
  /// In the same order.
  std::vector<std::string> names() const;
  /// Null if there is no such tensor.
  const TensorView* find(std::string_view name) const;
  /// Errors: invalid if there is no such tensor.
  const TensorView& at(std::string_view name) const;
  /// The keys of a GGUF file; null for safetensors.
  const GgufMetadata* metadata() const { return metadata_ ? &*metadata_ : nullptr; }

 private:
  std::string where_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::optional<GgufMetadata> metadata_;
  std::vector<std::size_t> by_name_;  // indices into tensors_
};

/// Opens a directory with `<stem>.safetensors.index.json` or else `<stem>.safetensors`, or one
/// file: GGUF if it begins as such, else safetensors.
///
/// Errors: invalid if files are missing; corrupt if a file breaks its format, or if the index and a
///         shard name different tensors; unsupported for what the parsers refuse by name.
Checkpoint open_checkpoint(const std::filesystem::path& path, std::string_view stem = kModelStem);

}  // namespace parhelion::state
