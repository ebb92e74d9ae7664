#include "exec/cuda/handles.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace parhelion::exec::cuda {

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(stream);
}

Stream make_dependent_stream() {
  int lowest = 0;
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
        "cudaStreamCreateWithPriority");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return Event(event);
}

Event make_timer() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

PinnedMemory make_pinned(std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* memory = nullptr;
  check(cudaMallocHost(&memory, count), "cudaMallocHost");
  std::memset(memory, 0, count);
  return PinnedMemory(memory);
}

}  // namespace parhelion::exec::cuda
