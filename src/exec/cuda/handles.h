#pragma once

#include "exec/cuda/check.h"

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
using PinnedMemory = Handle<void*, cudaFreeHost>;

Stream make_stream();
/// One on which kernels are launched dependently (kernels/launch.cuh).
Stream make_dependent_stream();
/// For waiting, not for timing.
Event make_event();
Event make_timer();
/// Page-locked host memory, zeroed.
PinnedMemory make_pinned(std::int64_t bytes);

}  // namespace parhelion::exec::cuda
