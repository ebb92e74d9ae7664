#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cuda {

/// The rope of rows that are heads, in the order of tokens. `kernels/rope.h` tells its formula.
struct HeadTurn {
  const std::int32_t* positions = nullptr;  ///< [tokens]; null: rows are not turned
  const float* table = nullptr;             ///< [max_position, d]
  std::int64_t max_position = 0;
  int heads = 1;  ///< rows of a token
  bool inverse = false;
};

/// Whether rows of d elements can be turned while they lie in registers: their halves are whole
/// packs, one to a thread.
inline bool can_turn_rows(ir::Kind kind, std::int64_t d) {
  const std::int64_t pack = kind == ir::Kind::bf16 ? 8 : 4;
  return d > 0 && d % (2 * pack) == 0 && d / pack <= 32;
}

}  // namespace parhelion::exec::cuda
