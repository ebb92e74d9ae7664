#pragma once

#include <cstdint>
#include <vector>

namespace parhelion::train {

/// What is shuffled.
enum class Shuffled : std::uint8_t { documents, microbatches };

/// The numbers from 0 to `count` in a random order that depends on the arguments alone.
std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch,
                                         Shuffled what);

/// The numbers from 0 to `count`, ascending.
std::vector<std::int64_t> given_order(std::int64_t count);

}  // namespace parhelion::train
