#include "train/track/plot_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parhelion::train {
namespace {

/// The smallest of 1, 2 and 5 times a power of ten that is not below `distance`.
double round_tick(double distance) {
  const double power = std::pow(10.0, std::floor(std::log10(distance)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= distance * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// Ends that differ, around the same middle.
PlotAxis apart(double low, double high) {
  if (high > low) return {low, high, 1.0};
  const double margin = std::max(std::abs(low) * 0.1, 1e-6);
  return {low - margin, high + margin, 1.0};
}

}  // namespace

PlotAxis outer_axis(double low, double high, int count) {
  PlotAxis axis = apart(low, high);
  axis.tick = round_tick((axis.high - axis.low) / count);
  axis.low = std::floor(axis.low / axis.tick) * axis.tick;
  axis.high = std::ceil(axis.high / axis.tick) * axis.tick;
  return axis;
}

PlotAxis exact_axis(double low, double high, int count) {
  const double end = std::max(high, low + 1);
  return {low, end, std::max(1.0, round_tick((end - low) / count))};
}

std::vector<double> tick_values(const PlotAxis& axis) {
  std::vector<double> values;
  const double slack = axis.tick * 1e-6;
  for (double index = std::ceil((axis.low - slack) / axis.tick) + 0.0;  // no -0
       index * axis.tick <= axis.high + slack; index += 1) {
    values.push_back(index * axis.tick);
  }
  return values;
}

std::string tick_text(const PlotAxis& axis, double value) {
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(axis.tick) + 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace parhelion::train
