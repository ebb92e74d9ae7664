#pragma once

#include <array>
#include <cstdint>

namespace parhelion {

/// Philox4x32-10: four random words, a pure function of key and counter.
///
/// Source: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high);

/// 16 random bits, keyed by (seed, tag, element). Eight elements share one Philox block.
std::uint32_t noise16(std::uint64_t seed, std::uint64_t tag, std::uint64_t element);

/// A float in [0, 1) with 24 random bits, keyed by (seed, tag, element).
float uniform(std::uint64_t seed, std::uint64_t tag, std::uint64_t element);

/// A standard normal float (Box-Muller), keyed by (seed, tag, element).
float normal(std::uint64_t seed, std::uint64_t tag, std::uint64_t element);

}  // namespace parhelion
