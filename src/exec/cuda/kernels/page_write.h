#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// pages[location[t], :] = x[t, :], where a location counts tokens over all pages; a location
/// outside [0, capacity) writes nothing. All are aligned to 16 bytes.
struct PageWrite {
  ir::Kind kind = ir::Kind::f32;           ///< f32 or bf16, of x and pages
  const void* x = nullptr;                 ///< [tokens, row]
  const std::int64_t* location = nullptr;  ///< [tokens], no location twice
  void* pages = nullptr;                   ///< [capacity, row]
  std::int64_t tokens = 0;
  std::int64_t row = 0;        ///< elements of a token
  std::int64_t capacity = 0;   ///< tokens that the pages hold
  const bool* gate = nullptr;  ///< null: always
};
void page_write(const PageWrite& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
