#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Part of every page of a buffer, at most kPageChunk bytes, that one block copies for one lane:
/// pages[destination[l]] = pages[source[l]] where source[l] is in [0, page_count) and
/// destination[l] in [1, page_count).
struct PageChunk {
  const std::int32_t* source = nullptr;       ///< [lanes]
  const std::int32_t* destination = nullptr;  ///< [lanes], none twice and none a source
  std::byte* pages = nullptr;                 ///< [page_count, page_bytes], aligned to 16 bytes
  std::int64_t lanes = 0;
  std::int64_t page_count = 0;
  std::int64_t page_bytes = 0;
  std::int64_t first = 0;  ///< of the part's bytes in a page, a multiple of 16
  std::int64_t count = 0;
};
inline constexpr std::int64_t kPageChunk = 16384;

/// Copies every chunk for each of its lanes, of which it has at most `lanes`, in one launch; `gate`
/// null: always.
///
/// Shapes: chunks [count], on the device
void copy_pages(const PageChunk* chunks, std::int64_t count, std::int64_t lanes, const bool* gate,
                cudaStream_t stream);

}  // namespace parhelion::exec::cuda
