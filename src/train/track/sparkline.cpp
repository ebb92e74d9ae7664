#include "train/track/sparkline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace parhelion::train {
namespace {

constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The mean of each of `parts` equal parts.
std::vector<double> part_means(const std::vector<LossPoint>& points, std::size_t parts) {
  std::vector<double> means;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = points.size() * part / parts;
    const std::size_t end = points.size() * (part + 1) / parts;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points[i].loss;
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

}  // namespace

std::string loss_sparkline(const std::vector<LossPoint>& points, std::int64_t width) {
  const std::vector<LossPoint> finite = finite_points(points);
  if (finite.empty() || width < 1) return {};
  const std::vector<double> means =
      part_means(finite, std::min(finite.size(), static_cast<std::size_t>(width)));
  const auto [low, high] = std::ranges::minmax(means);
  const double step = high > low ? (high - low) / (kBars.size() - 1) : 1;
  std::string bars;
  for (const double mean : means)
    bars += kBars[static_cast<std::size_t>(std::lround((mean - low) / step))];
  return fmt::format("{:.3g} {} {:.3g}", finite.front().loss, bars, finite.back().loss);
}

}  // namespace parhelion::train
