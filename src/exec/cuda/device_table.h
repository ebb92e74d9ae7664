#pragma once

#include "exec/cuda/device_memory.h"

#include <span>
#include <type_traits>

namespace parhelion::exec::cuda {

/// A copy of `items` on the device, complete at return. Made while planning, never while running.
///
/// Errors: exhausted if the device has no such room.
template <class T>
DeviceMemory device_table(std::span<const T> items, cudaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  DeviceMemory table(static_cast<std::int64_t>(items.size_bytes()));
  if (items.empty()) return table;
  check(cudaMemcpyAsync(table.data(), items.data(), items.size_bytes(), cudaMemcpyHostToDevice,
                        stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return table;
}

}  // namespace parhelion::exec::cuda
