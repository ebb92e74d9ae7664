#pragma once

#include "state/safetensors_writer.h"
#include "state/tensor.h"
#include "train/checkpoint/manifest.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace parhelion::train {

/// What the names of the files begin with that hold the optimizer's state; those of the parameters
/// are `model::kParametersStem`.
inline constexpr std::string_view kOptimizerStem = "optimizer";

/// A file that a checkpoint takes along so that it can be opened as a model: config.json, the
/// tokenizer's files and their like.
struct ModelFile {
  std::string name;  ///< without a directory
  std::string text;
  bool operator==(const ModelFile&) const = default;
};

/// What one checkpoint holds.
struct CheckpointContent {
  std::vector<state::TensorView> parameters = {};
  std::vector<state::TensorView> optimizer = {};  ///< every state that outlives a step
  CheckpointFacts facts = {};
};

/// Where and how the checkpoints of a job are written.
struct CheckpointStore {
  std::filesystem::path directory;          ///< where they lie side by side
  std::int64_t keep = 2;                    ///< how many stay; 0 = all
  std::vector<ModelFile> model_files = {};  ///< the same in each
  std::int64_t shard_bytes = state::kDefaultShardBytes;
};

/// A checkpoint as it lies on disk.
struct WrittenCheckpoint {
  std::filesystem::path directory;
  std::int64_t bytes = 0;  ///< of all files but the manifest
};

/// Writes a checkpoint, all of it or nothing, and makes it durable. One that has the same step is
/// replaced; older ones stay.
///
/// Errors: as state::SafetensorsWriter and AtomicFile: exhausted if the disk is full; invalid if a
///         file cannot be written or a model file has no plain name.
WrittenCheckpoint write_checkpoint(const CheckpointContent& content, const CheckpointStore& store);

}  // namespace parhelion::train
