#pragma once

#include "base/random.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace parhelion::bench {

/// The best of several runs, in seconds: other work on the machine only slows a run down.
template <class Run>
double best_seconds(const Run& run) {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 1e30;
  double spent = 0;
  for (int i = 0; i < 1000 && (i < 5 || spent < 0.4); ++i) {
    const auto begin = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = seconds < best ? seconds : best;
    spent += seconds;
  }
  return best;
}

/// Memory aligned to 64 bytes.
class Bytes {
 public:
  explicit Bytes(std::size_t size)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(64, (size + 127) / 64 * 64)),
                &std::free),
        size_(size) {}
  std::byte* data() { return memory_.get(); }
  std::span<std::byte> span() { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
  std::size_t size_;
};

inline std::vector<float> normal_floats(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(1, 2, i);
  return values;
}

/// The model name that the system reports.
inline std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace parhelion::bench
