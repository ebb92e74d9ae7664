#pragma once

#include "ir/dim.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::serve {

/// How many tokens a step may have, so that sequences that decode need not wait long for each
/// other's prompts. Learns how long steps of each instance take.
class StepBudget {
 public:
  using Seconds = std::chrono::duration<double>;

  /// A step beside sequences that decode should take no longer than `target`.
  StepBudget(std::span<const ir::Capacities> catalogue, Seconds target);

  void learn(std::size_t instance, Seconds time);

  /// Tokens of a step in which `decoding` sequences decode: those of the longest instance that is
  /// within the target, or within thrice the time of decoding alone, yet so many that prompts have
  /// two fifths of the step. The most of any
  /// instance if nobody decodes.
  std::int64_t tokens(std::int64_t decoding) const;

  /// The expected time of an instance: measured, but no more than one of fewer tokens takes in
  /// proportion; if neither was measured, in proportion to a larger one; 0 if none was.
  Seconds expected(std::size_t instance) const;

 private:
  Seconds target_beside(std::int64_t decoding) const;

  std::span<const ir::Capacities> catalogue_;
  Seconds target_;
  std::vector<Seconds> times_;  // 0: not measured
};

}  // namespace parhelion::serve
