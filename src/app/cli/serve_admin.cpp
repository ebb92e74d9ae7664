#include "app/cli/serve_admin.h"

#include "base/log.h"

#include <algorithm>
#include <utility>

namespace parhelion::app {
namespace {

constexpr std::int64_t kLoggedSteps = 32;

Json step_json(const serve::StepRecord& step) {
  return Json::Object{{"number", step.number},
                      {"begin_seconds", step.begin_seconds},
                      {"seconds", step.seconds},
                      {"rows", step.rows},
                      {"padded_rows", step.padded_rows},
                      {"prompt_tokens", step.prompt_tokens},
                      {"cached_tokens", step.cached_tokens},
                      {"drawn_tokens", step.drawn_tokens},
                      {"discarded_tokens", step.discarded_tokens},
                      {"preemptions", step.preemptions},
                      {"evicted_pages", step.evicted_pages},
                      {"numeric_failures", step.numeric_failures},
                      {"running", step.running},
                      {"waiting", step.waiting},
                      {"pages_free", step.pages_free}};
}

Json trace_of(const serve::EngineThread& engine) {
  Json::Array steps;
  for (const serve::StepRecord& step : engine.recent_steps()) steps.push_back(step_json(step));
  return Json::Object{{"steps", std::move(steps)}};
}

}  // namespace

AdminActions admin_actions(serve::EngineThread& engine, std::function<void()> drain) {
  AdminActions actions;
  actions.drain = std::move(drain);
  actions.reset_cache = [&engine] {
    engine.between_steps([](serve::Engine& held) { held.reset_cache(); });
  };
  actions.audit = [&engine] { engine.between_steps([](serve::Engine& held) { held.audit(); }); };
  actions.trace = [&engine] { return trace_of(engine); };
  return actions;
}

void log_recent_steps(const serve::EngineThread& engine) {
  const std::vector<serve::StepRecord> steps = engine.recent_steps();
  const std::int64_t first = std::max<std::int64_t>(0, std::ssize(steps) - kLoggedSteps);
  for (std::int64_t i = first; i < std::ssize(steps); ++i)
    log(LogLevel::error, "step {}", write_json(step_json(steps[static_cast<std::size_t>(i)])));
}

}  // namespace parhelion::app
