#include "exec/cuda/handles.h"

#include "base/error.h"
#include "base/parallel.h"

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kHostPage = 4096;
constexpr std::int64_t kPagesWorthAThread = 4096;

}  // namespace

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

// Large pages, touched by all processors, are locked many times faster than the small ones that
// cudaMallocHost takes.
PinnedMemory::PinnedMemory(std::int64_t bytes)
    : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))) {
  void* const pages =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ensure(pages != MAP_FAILED, ErrorKind::exhausted, "cuda: no {} bytes of host memory", bytes_);
  data_ = pages;
  ::madvise(data_, bytes_, MADV_HUGEPAGE);  // where there are any
  const auto touch = [this](std::int64_t first, std::int64_t last) {
    for (std::int64_t page = first; page < last; ++page) data()[page * kHostPage] = std::byte{0};
  };
  for_ranges((static_cast<std::int64_t>(bytes_) + kHostPage - 1) / kHostPage, touch,
             kPagesWorthAThread);
  const cudaError_t status = cudaHostRegister(data_, bytes_, cudaHostRegisterDefault);
  if (status == cudaSuccess) return;
  ::munmap(data_, bytes_);
  check(status, "cudaHostRegister");
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  cudaHostUnregister(data_);
  ::munmap(data_, bytes_);
}

}  // namespace parhelion::exec::cuda
