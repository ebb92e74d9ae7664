#pragma once

#include <cstdint>
#include <functional>

namespace parhelion {

/// Calls `work(first, last)` for ranges that make up [0, count), on all processors at once where
/// the count is worth it. For work at load, such as filling gigabytes.
///
/// Threads: `work` runs on several, and must not throw.
void for_ranges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work);

}  // namespace parhelion
