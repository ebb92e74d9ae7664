#pragma once

#include <algorithm>
#include <cstdint>

namespace parhelion::exec::cpu {

/// Calls f(begin, end) on at most `threads` contiguous parts of [0, count). A part has `grain`
/// indices or more, so tiny work stays on the caller's thread.
///
/// Threads: f must not throw, and its results must not depend on where the parts begin.
template <class F>
void parallel_ranges(std::int64_t count, std::int64_t grain, int threads, const F& f) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, std::max(threads, 1));
  if (parts == 1) {
    f(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    f(count * part / parts, count * (part + 1) / parts);
  }
}

/// Calls f(item, worker) for each item of [0, count), in any order, worker < max(threads, 1).
///
/// Threads: f must not throw; calls with one worker do not overlap.
template <class F>
void parallel_items(std::int64_t count, int threads, const F& f) {
  const std::int64_t workers = std::clamp<std::int64_t>(count, 1, std::max(threads, 1));
  if (workers == 1) {
    for (std::int64_t item = 0; item < count; ++item) f(item, 0);
    return;
  }
  std::int64_t next = 0;
#pragma omp parallel for num_threads(static_cast <int>(workers)) schedule(static, 1)
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    for (;;) {
      std::int64_t item = 0;
#pragma omp atomic capture
      item = next++;
      if (item >= count) break;
      f(item, static_cast<int>(worker));
    }
  }
}

/// Indices per part such that a part touches about 16,384 elements.
constexpr std::int64_t grain_of(std::int64_t elements_per_index) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(elements_per_index, 1));
}

}  // namespace parhelion::exec::cpu
