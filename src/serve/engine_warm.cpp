// Runs every instance before the first request.
#include "base/error.h"
#include "serve/engine.h"
#include "serve/warm_up.h"

#include <array>

namespace parhelion::serve {

std::int64_t Engine::warm_up(std::chrono::duration<double> limit) {
  ensure(phase_ == Phase::load, ErrorKind::bug, "engine: is warmed in phase {}, expected load",
         name(phase_));
  phase_ = Phase::warm;
  const auto end = std::chrono::steady_clock::now() + limit;
  std::int64_t left = 0;
  for (const StepKind kind : {StepKind::plain, StepKind::edited, StepKind::embed}) {
    for (std::size_t i = 0; i < stepper_.instances(kind).catalogue.size(); ++i) {
      const bool has_time = std::chrono::steady_clock::now() < end;
      if (has_time) warm_instance(kind, i);
      left += has_time ? 0 : 1;
    }
  }
  phase_ = Phase::serve;
  return left;
}

/// What is written is covered with the null page again: keys that are not finite would outlast it.
void Engine::warm_instance(StepKind kind, std::size_t instance) {
  const ir::Capacities& capacities = stepper_.instances(kind).catalogue[instance];
  for (const WarmLoad load : {WarmLoad::full, WarmLoad::one, WarmLoad::none}) {
    const WarmRows warm(capacities, load, cache_.total_count(), contract_.cache.page_tokens);
    stepper_.prepare(warm.rows(), kind, instance);
    const auto begin = std::chrono::steady_clock::now();
    stepper_.start();
    stepper_.finish();
    const auto time = std::chrono::steady_clock::now() - begin;
    if (load == WarmLoad::none) continue;
    if (load == WarmLoad::full) budget_of(kind).learn(instance, time);
    for (std::int64_t page = 1; page <= warm.last_page(); ++page)
      copies_.add(0, static_cast<std::int32_t>(page));
    copy_pages();
  }
}

}  // namespace parhelion::serve
