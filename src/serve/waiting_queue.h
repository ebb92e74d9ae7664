#pragma once

#include "serve/sequence.h"

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

namespace parhelion::serve {

/// Sequences that wait for room. Lower priorities go first, a class lower for every `ageing` waited
/// and every preemption; within a class the fairness key that was served least; then who came
/// first.
class WaitingQueue {
 public:
  using Clock = std::chrono::steady_clock;

  WaitingQueue(std::int64_t capacity, std::chrono::duration<double> ageing);

  void add(std::unique_ptr<Sequence> sequence);

  /// Those that may be admitted now, the first in turn first. Valid until the queue changes. The
  /// later sequences of a request wait until the first has consumed their prompt.
  std::span<Sequence* const> in_turn(Clock::time_point now);

  /// Takes one that is admitted. What its key has been served is where keys that come begin.
  std::unique_ptr<Sequence> admit(const Sequence* sequence);

  /// Takes one that was cancelled; null if there is none.
  std::unique_ptr<Sequence> take_cancelled();

  /// Says that the device spent `cost` on a key.
  void charge(std::uint64_t fairness_key, double cost);

  /// A sequence's priority, with what it waited and gave way.
  double class_of(const Sequence& sequence, Clock::time_point now) const;

  std::span<const std::unique_ptr<Sequence>> all() const { return waiting_; }

 private:
  std::unique_ptr<Sequence> take(const Sequence* sequence);
  double& served(std::uint64_t fairness_key) { return served_[fairness_key % served_.size()]; }

  std::chrono::duration<double> ageing_;
  std::vector<std::unique_ptr<Sequence>> waiting_;
  std::vector<Sequence*> order_;
  std::array<double, 256> served_ = {};  // keys that share a place share their turn
  double virtual_time_ = 0;              // never falls
  std::uint64_t last_key_ = 0;           // of the last admitted
  std::uint64_t arrivals_ = 0;
};

}  // namespace parhelion::serve
