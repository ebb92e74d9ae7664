#pragma once

#include <cstdint>

namespace parhelion::test {

/// Calls of the CUDA runtime and the libraries over it that this program made. The linker puts
/// counters in their place (`--wrap`), so calls within the libraries are not seen.
struct CudaCalls {
  std::int64_t allocations = 0;     ///< and frees, of device and pinned memory
  std::int64_t choices = 0;         ///< searches, library plans, captures and graphs made
  std::int64_t launches = 0;        ///< of single kernels and library calls
  std::int64_t memory_sets = 0;     ///< of either kind
  std::int64_t copies = 0;          ///< enqueued
  std::int64_t graph_launches = 0;  ///< enqueued
  std::int64_t event_waits = 0;     ///< of the host
  std::int64_t other_waits = 0;     ///< of the host: streams, the device, copies that block
  bool operator==(const CudaCalls&) const = default;
};

/// Those so far.
CudaCalls& cuda_calls();

/// Those that `act` makes.
template <class Act>
CudaCalls calls_of(const Act& act) {
  cuda_calls() = {};
  act();
  return cuda_calls();
}

}  // namespace parhelion::test
