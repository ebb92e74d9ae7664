#pragma once

#include "train/config/schedule_settings.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace parhelion::train {

/// A part of a run. At step t in [begin, end), with x = (t - begin) / (end - begin), s = from and
/// e = to, the multiplier is
///
///   linear       s + (e - s) x                     poly   s + (e - s) x^power
///   cosine       e + (s - e) (1 + cos(pi x)) / 2
///   exponential  exp(ln s + (ln e - ln s) x), with s and e of at least 1e-8
struct Phase {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double from = 1.0;
  double to = 1.0;
  Curve curve = Curve::linear;
  double power = 2.0;
  bool operator==(const Phase&) const = default;
};

/// The multiplier of the learning rate over a run.
struct Schedule {
  double initial = 1.0;
  std::vector<Phase> phases;  ///< one after another, from step 0
};

/// Updates of a run: `schedule.steps`, or as many as the data give, `data_steps`, which is absent
/// if the data have no end.
///
/// Errors: invalid if `schedule.steps` is more than the data give, or if there is neither.
std::int64_t resolve_steps(const ScheduleSettings& settings,
                           std::optional<std::int64_t> data_steps);

/// Places the phases in a run of `total_steps`.
///
/// Errors: invalid, naming the phase, if one ends behind the run or before it begins.
Schedule build_schedule(const ScheduleSettings& settings, std::int64_t total_steps);

/// The multiplier at `step`, counted from 0: the initial one before the run, the last target behind
/// the phases.
double multiplier(const Schedule& schedule, std::int64_t step);

}  // namespace parhelion::train
