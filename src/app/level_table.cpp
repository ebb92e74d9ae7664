#include "app/level_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace parhelion::app {
namespace {

/// Seconds at each level.
using Row = std::vector<double>;

std::string level_line(std::string_view what, const Row& seconds) {
  std::string text = fmt::format("  {:<28}", what);
  for (const double each : seconds) text += fmt::format("{:>14.4f}", each * 1e3);
  for (std::size_t i = 0; i + 1 < seconds.size(); ++i) {
    text += seconds.back() > 0 ? fmt::format("{:>17.3f}", seconds[i] / seconds.back())
                               : fmt::format("{:>17}", "-");
  }
  return text + "\n";
}

std::string level_heading(std::span<const LevelTimes> levels) {
  std::string text = fmt::format("  {:<28}", "family");
  for (const LevelTimes& level : levels) text += fmt::format("{:>14}", level.numerics + " ms");
  for (const LevelTimes& level : levels.first(levels.size() - 1))
    text += fmt::format("{:>17}", level.numerics + "/" + levels.back().numerics);
  return text + "\n";
}

/// The families of a shape and what all its kernels take, longest at the first level first.
std::vector<std::pair<std::string, Row>> family_rows(std::span<const LevelTimes> levels,
                                                     std::size_t shape) {
  std::map<std::string, Row> rows;
  Row& all = rows.emplace("all kernels", Row(levels.size())).first->second;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (const auto& [family, seconds] : levels[i].times[shape].family_seconds) {
      rows.try_emplace(family, Row(levels.size())).first->second[i] += seconds;
      all[i] += seconds;
    }
  }
  std::vector<std::pair<std::string, Row>> result(rows.begin(), rows.end());
  std::ranges::stable_sort(result, std::greater(), &std::pair<std::string, Row>::second);
  return result;
}

Row step_row(std::span<const LevelTimes> levels, std::size_t shape) {
  Row result;
  for (const LevelTimes& level : levels) result.push_back(level.times[shape].device_seconds);
  return result;
}

}  // namespace

std::string print_levels(std::span<const LevelTimes> levels) {
  std::string text;
  for (std::size_t shape = 0; shape < levels.front().times.size(); ++shape) {
    const ServingTime& time = levels.front().times[shape];
    text += fmt::format("{} of {} rows, context {}\n", time.phase, time.rows, time.context_tokens);
    text += level_heading(levels);
    for (const auto& [family, seconds] : family_rows(levels, shape))
      text += level_line(family, seconds);
    text += level_line("step on the device", step_row(levels, shape));
  }
  return text;
}

}  // namespace parhelion::app
