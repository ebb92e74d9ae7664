#pragma once

#include "serve/request.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace parhelion::serve {

/// What one turn of the engine did.
struct StepRecord {
  std::int64_t number = 0;   ///< of the last step that was begun
  double begin_seconds = 0;  ///< since the recorder was made
  double seconds = 0;
  std::int64_t rows = 0;
  std::int64_t padded_rows = 0;
  std::int64_t prompt_tokens = 0;  ///< admitted
  std::int64_t cached_tokens = 0;  ///< of these, found in the cache
  std::int64_t drawn_tokens = 0;
  std::int64_t discarded_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t evicted_pages = 0;
  std::int64_t numeric_failures = 0;
  std::int64_t running = 0;  ///< sequences, afterwards
  std::int64_t waiting = 0;
  std::int64_t pages_free = 0;
  bool operator==(const StepRecord&) const = default;
};

inline constexpr std::int64_t kRecordedSteps = 4096;

/// Remembers the last steps of an engine. Allocates when made, not later.
class FlightRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  FlightRecorder() : ring_(static_cast<std::size_t>(kRecordedSteps)) {}
  /// A turn from `begin` until now, by what the engine had counted before and after it.
  void note(const ServerCounts& before, const ServerCounts& after, Clock::time_point begin);
  /// The last ones, the oldest first.
  std::vector<StepRecord> records() const;

 private:
  Clock::time_point made_ = Clock::now();
  std::vector<StepRecord> ring_;
  std::int64_t noted_ = 0;
};

}  // namespace parhelion::serve
