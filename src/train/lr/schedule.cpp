#include "train/lr/schedule.h"

#include "base/counted.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace parhelion::train {
namespace {

double exponential_curve(double from, double to, double x) {
  const double log_from = std::log(std::max(from, 1e-8));
  const double log_to = std::log(std::max(to, 1e-8));
  return std::exp(log_from + (log_to - log_from) * x);
}

double curve_value(const Phase& phase, double x) {
  switch (phase.curve) {
    case Curve::linear:
      return phase.from + (phase.to - phase.from) * x;
    case Curve::cosine:
      return phase.to + (phase.from - phase.to) * (1 + std::cos(std::numbers::pi * x)) / 2;
    case Curve::poly:
      return phase.from + (phase.to - phase.from) * std::pow(x, phase.power);
    case Curve::exponential:
      return exponential_curve(phase.from, phase.to, x);
  }
  fail(ErrorKind::bug, "schedule: no curve {}", static_cast<int>(phase.curve));
}

/// The step where a phase ends. Saturates, so that no sum of steps overflows.
std::int64_t phase_end(const PhaseSettings& phase, std::int64_t begin, std::int64_t total_steps) {
  if (phase.steps) return *phase.steps > INT64_MAX - begin ? INT64_MAX : begin + *phase.steps;
  if (!phase.until) return total_steps;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(total_steps) * *phase.until));
}

}  // namespace

std::int64_t resolve_steps(const ScheduleSettings& settings,
                           std::optional<std::int64_t> data_steps) {
  ensure(settings.steps > 0 || data_steps.has_value(), ErrorKind::invalid,
         "schedule.steps is 0 and the data have no end, expected schedule.steps");
  if (settings.steps == 0) return *data_steps;
  ensure(settings.steps <= data_steps.value_or(settings.steps), ErrorKind::invalid,
         "schedule.steps is {}, but the data give {}; more data.epochs give more", settings.steps,
         counted(data_steps.value_or(0), "step"));
  return settings.steps;
}

Schedule build_schedule(const ScheduleSettings& settings, std::int64_t total_steps) {
  Schedule schedule{settings.initial, {}};
  Phase next{0, 0, settings.initial, settings.initial};
  for (const PhaseSettings& phase : settings.phases) {
    const std::size_t index = schedule.phases.size();
    next = {next.end,   phase_end(phase, next.end, total_steps), next.to, phase.target, phase.curve,
            phase.power};
    ensure(next.end <= total_steps, ErrorKind::invalid,
           "schedule.phases.{} ends at step {}, expected at most the last, {}", index, next.end,
           total_steps);
    ensure(next.end >= next.begin, ErrorKind::invalid,
           "schedule.phases.{} ends at step {}, before it begins at {}", index, next.end,
           next.begin);
    schedule.phases.push_back(next);
  }
  return schedule;
}

double multiplier(const Schedule& schedule, std::int64_t step) {
  if (step < 0 || schedule.phases.empty()) return schedule.initial;
  for (const Phase& phase : schedule.phases) {
    if (step >= phase.end) continue;
    const auto done = static_cast<double>(step - phase.begin);
    return curve_value(phase, done / static_cast<double>(phase.end - phase.begin));
  }
  return schedule.phases.back().to;
}

}  // namespace parhelion::train
