#pragma once

#include "base/json.h"
#include "state/checkpoint.h"
#include "state/tensor.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// Where a new shard begins unless the caller says otherwise.
inline constexpr std::int64_t kDefaultShardBytes = std::int64_t{4} << 30;

/// Writes one safetensors file, which appears only when complete. Its bytes depend on the tensors
/// alone, not on their order: larger elements first, then by name, from a multiple of 64 bytes on,
/// so that every tensor is aligned to its elements.
///
/// Errors: invalid if a name occurs twice, is `__metadata__`, or a view's bytes contradict its
///         shape; unsupported for kinds that the format cannot hold; exhausted if the disk is full.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors);

/// Writes a directory's `<stem>.safetensors`, or shards with their index where one file would pass
/// the limit. Nothing is visible under a final name before `finish` has every shard complete on
/// disk, and the index, which makes the shards a checkpoint, comes last. Without a successful
/// `finish` nothing stays behind.
class SafetensorsWriter {
 public:
  /// A shard holds at most `shard_bytes` of tensors; a larger tensor has a shard of its own.
  ///
  /// Errors: invalid if `shard_bytes` is not positive, the directory cannot be made, or it already
  ///         holds a checkpoint.
  explicit SafetensorsWriter(std::filesystem::path directory,
                             std::int64_t shard_bytes = kDefaultShardBytes,
                             std::string_view stem = kModelStem);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// Takes the next tensor. Bytes without `storage` must stay as they are until `finish` returns.
  ///
  /// Errors: as `write_safetensors`.
  void add(TensorView tensor);
  /// Writes what is left and publishes the checkpoint. Call once.
  ///
  /// Errors: as `write_safetensors`.
  void finish();

 private:
  void write_shard();
  void publish();
  std::string final_name(std::size_t shard) const;
  Json index_json() const;

  std::filesystem::path directory_;
  std::int64_t shard_bytes_;
  std::string stem_;
  bool made_directory_ = false;
  std::vector<TensorView> pending_;  // the shard being collected
  std::int64_t pending_bytes_ = 0;
  std::int64_t total_bytes_ = 0;
  std::vector<std::filesystem::path> shards_;    // written, not yet published
  std::map<std::string, std::size_t> shard_of_;  // by tensor
};

}  // namespace parhelion::state
