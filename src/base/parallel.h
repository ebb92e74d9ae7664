#pragma once

#include <cstdint>
#include <functional>

namespace parhelion {

/// Calls `work(first, last)` for ranges that make up [0, count), on all processors at once as far
/// as each gets `worth_a_thread`. For work at load, such as filling gigabytes.
///
/// Threads: `work` runs on several, and must not throw.
void for_ranges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work,
                std::int64_t worth_a_thread = 1 << 14);

}  // namespace parhelion
