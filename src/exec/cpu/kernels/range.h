#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// A half-open interval.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

}  // namespace parhelion::exec::cpu
