#include "serve/flight_recorder.h"

#include <algorithm>

namespace parhelion::serve {

void FlightRecorder::note(const ServerCounts& before, const ServerCounts& after,
                          Clock::time_point begin) {
  StepRecord& record = ring_[static_cast<std::size_t>(noted_++ % kRecordedSteps)];
  record.number = after.steps;
  record.begin_seconds = std::chrono::duration<double>(begin - made_).count();
  record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  record.rows = after.step_rows - before.step_rows;
  record.padded_rows = after.padded_rows - before.padded_rows;
  record.prompt_tokens = after.prompt_tokens - before.prompt_tokens;
  record.cached_tokens = after.cached_tokens - before.cached_tokens;
  record.drawn_tokens = after.drawn_tokens - before.drawn_tokens;
  record.discarded_tokens = after.discarded_tokens - before.discarded_tokens;
  record.preemptions = after.preemptions - before.preemptions;
  record.evicted_pages = after.evicted_pages - before.evicted_pages;
  record.numeric_failures = after.numeric_failures - before.numeric_failures;
  record.running = after.running;
  record.waiting = after.waiting;
  record.pages_free = after.pages_free;
}

std::vector<StepRecord> FlightRecorder::records() const {
  std::vector<StepRecord> records;
  const std::int64_t count = std::min(noted_, kRecordedSteps);
  records.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = noted_ - count; i < noted_; ++i)
    records.push_back(ring_[static_cast<std::size_t>(i % kRecordedSteps)]);
  return records;
}

}  // namespace parhelion::serve
