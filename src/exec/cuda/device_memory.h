#pragma once

#include "exec/cuda/check.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <utility>

namespace parhelion::exec::cuda {

/// Owns device memory, aligned to 256. Made while planning, never while running.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Errors: exhausted if the device has no such room.
  explicit DeviceMemory(std::int64_t bytes) {
    if (bytes > 0) check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "cudaMalloc");
  }
  ~DeviceMemory() {
    if (data_ != nullptr) cudaFree(data_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace parhelion::exec::cuda
