#pragma once

#include <cstddef>
#include <cstdint>

namespace parhelion::exec::cpu {

/// pages[destination[l], :] = pages[source[l], :] where source[l] is in [0, page_count) and
/// destination[l] in [1, page_count).
struct CopyPages {
  const std::int32_t* source = nullptr;       ///< [lanes]
  const std::int32_t* destination = nullptr;  ///< [lanes], none twice and none a source
  std::byte* pages = nullptr;                 ///< [page_count, page_bytes]
  std::int64_t lanes = 0;
  std::int64_t page_count = 0;
  std::int64_t page_bytes = 0;
};
void copy_pages(const CopyPages& args, int threads);

}  // namespace parhelion::exec::cpu
