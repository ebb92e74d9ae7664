#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// pages[location[t], :, :] = x[t, :, :], where a location counts tokens over all pages
/// (page * page_tokens + offset); a location outside [0, capacity) is none and writes nothing.
struct PageWrite {
  ir::Kind kind = ir::Kind::f32;           ///< f32 or bf16, of x and pages
  const void* x = nullptr;                 ///< [tokens, heads, d], tokens `x_stride` elements apart
  const std::int64_t* location = nullptr;  ///< [tokens], no location twice
  void* pages = nullptr;                   ///< [capacity, heads, d]
  std::int64_t tokens = 0;
  std::int64_t row = 0;       ///< heads * d
  std::int64_t x_stride = 0;  ///< heads * d where x is dense
  std::int64_t capacity = 0;  ///< pages * page_tokens
};
void page_write(const PageWrite& args, int threads);

}  // namespace parhelion::exec::cpu
