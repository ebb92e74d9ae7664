#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Part of a buffer that one block clears, at most kClearChunk elements, aligned to 16 bytes.
struct ClearChunk {
  float* begin = nullptr;
  std::int64_t count = 0;
};
inline constexpr std::int64_t kClearChunk = 16384;

/// Writes zeros to every chunk, in one launch; `gate` null: always.
///
/// Shapes: chunks [count], on the device
void clear(const ClearChunk* chunks, std::int64_t count, const bool* gate, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
