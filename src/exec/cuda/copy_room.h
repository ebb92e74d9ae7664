#pragma once

#include "exec/cuda/device_memory.h"
#include "exec/cuda/handles.h"
#include "exec/executor.h"

#include <memory>
#include <string>
#include <vector>

namespace parhelion::exec::cuda {

/// A buffer to be copied aside.
struct KeptSource {
  std::string name;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

/// Room on the device for copies of buffers, made and read on a stream of its own.
class CopyRoom {
 public:
  explicit CopyRoom(int ordinal);

  /// Makes room for so many bytes of copies, if the device has twice that left.
  void reserve(std::int64_t bytes);

  /// Copies `sources` as they are when the work of `after` so far has ended. None if there is no
  /// room, or the copies made before are still held.
  std::unique_ptr<KeptBuffers> keep(std::span<const KeptSource> sources, cudaStream_t after);

  /// Lets the later work of `stream` wait until all is copied that is being copied.
  void order(cudaStream_t stream);
  /// The same, if something at one of these addresses is being copied.
  void order_writes(std::span<std::byte* const> addresses, cudaStream_t stream);

 private:
  int ordinal_;
  Stream stream_;
  Event begun_;
  Event copied_;
  std::shared_ptr<DeviceMemory> memory_;  // shared with what is kept
  std::int64_t bytes_ = 0;
  std::vector<const std::byte*> copying_;  // sorted; empty once every writer waits
};

}  // namespace parhelion::exec::cuda
