#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// Elements whose noise is drawn together; kernels that draw are split at its multiples.
inline constexpr std::int64_t kNoiseBlock = 512;

/// Room behind a block of noise for the vector that a tail reads.
inline constexpr std::int64_t kNoiseMargin = 16;

}  // namespace parhelion::exec::cpu
