#pragma once

#include "exec/cuda/check.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <utility>

namespace parhelion::exec::cuda {

/// Owns a handle of the CUDA runtime.
template <class T, auto destroy>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T handle) : handle_(handle) {}
  ~Handle() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  T get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T handle_ = nullptr;
};

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

Stream make_stream();
/// One on which kernels are launched dependently (kernels/launch.cuh).
Stream make_dependent_stream();
/// For waiting, not for timing.
Event make_event();
Event make_timer();

/// Owns page-locked host memory.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  /// Zeroed. Errors: exhausted.
  explicit PinnedMemory(std::int64_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace parhelion::exec::cuda
