#pragma once

#include "base/setting.h"

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace parhelion::train {

/// How a phase goes from its first multiplier to its last; `train/lr/schedule.h` has the formulas.
enum class Curve : std::uint8_t { linear, cosine, poly, exponential };
constexpr auto choices(const Curve*) {
  return std::array{choice("linear", Curve::linear), choice("cosine", Curve::cosine),
                    choice("poly", Curve::poly), choice("exponential", Curve::exponential)};
}

/// Table `[[schedule.phases]]`. A checked job has exactly one of `steps`, `until` and `rest`.
struct PhaseSettings {
  std::optional<std::int64_t> steps;
  std::optional<double> until;
  bool rest = false;
  double target = 1.0;
  Curve curve = Curve::linear;
  double power = 2.0;
  bool operator==(const PhaseSettings&) const = default;
};

constexpr auto settings(const PhaseSettings*) {
  return std::tuple(
      setting("steps", &PhaseSettings::steps,
              "length of the phase in steps, at least 1. A phase has `steps`, `until` or `rest`"),
      setting("until", &PhaseSettings::until,
              "end of the phase as a share of all steps, in [0, 1], rounded down to a step"),
      setting("rest", &PhaseSettings::rest, "whether the phase lasts to the end of the run"),
      required_setting("target", &PhaseSettings::target,
                       "multiplier of the learning rate at the end of the phase, at least 0"),
      setting("curve", &PhaseSettings::curve, "how the multiplier gets there"),
      setting("power", &PhaseSettings::power, "exponent of curve `poly`, above 0"));
}

/// Table `[schedule]`: how long training goes, and its learning rate over time.
struct ScheduleSettings {
  std::int64_t steps = 0;
  double initial = 1.0;
  std::vector<PhaseSettings> phases;
  bool operator==(const ScheduleSettings&) const = default;
};

constexpr auto settings(const ScheduleSettings*) {
  return std::tuple(
      setting("steps", &ScheduleSettings::steps,
              "updates of the parameters in all; 0 takes as many as `data.epochs` give"),
      setting("initial", &ScheduleSettings::initial,
              "multiplier of the learning rate at the first step, at least 0"),
      setting("phases", &ScheduleSettings::phases,
              "parts of the run, one after another, each from the multiplier before it to its "
              "target; behind the last one, its target stays. None keeps `initial` throughout"));
}

}  // namespace parhelion::train
