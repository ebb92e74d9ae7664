#pragma once

#include "train/checkpoint/write_checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// A tensor that is to be copied.
struct SnapshotTensor {
  std::string name;
  ir::Kind kind = ir::Kind::f32;
  state::Shape shape;
  std::int64_t bytes = 0;
  std::function<void(std::span<std::byte>)> copy;  ///< fills all bytes, on another thread
};

/// What a checkpoint will hold, before it is copied.
struct Snapshot {
  bool is_apart = false;  ///< what is copied is a copy itself, which nothing changes
  std::vector<SnapshotTensor> parameters = {};
  std::vector<SnapshotTensor> optimizer = {};
  CheckpointFacts facts = {};
  /// Memory for the copies. Errors: exhausted.
  std::function<std::shared_ptr<std::byte>(std::int64_t bytes)> memory = {};
};

/// Bytes of all its copies.
std::int64_t total_bytes(const Snapshot& snapshot);

/// Copies all of it into one block. The content lives as long as `block`, which it sets.
CheckpointContent take(const Snapshot& snapshot, std::shared_ptr<std::byte>& block);

/// Of content in host memory, which must stay as it is until it is copied; its copies lie in pages
/// of their own, which go back to the system when they end.
Snapshot snapshot_of(const CheckpointContent& content);

}  // namespace parhelion::train
