#include "base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace parhelion {

void for_ranges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work,
                std::int64_t worth_a_thread) {
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t pieces =
      std::max<std::int64_t>(1, std::min(processors, count / worth_a_thread));
  std::vector<std::jthread> threads;
  for (std::int64_t i = 1; i < pieces; ++i) {
    threads.emplace_back([&work, first = count * i / pieces, last = count * (i + 1) / pieces] {
      work(first, last);
    });
  }
  work(0, count / pieces);
}

}  // namespace parhelion
