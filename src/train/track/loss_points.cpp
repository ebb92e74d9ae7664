#include "train/track/loss_points.h"

#include "base/file.h"
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace parhelion::train {
namespace {

void append_loss(const Json& line, std::string_view key, std::vector<LossPoint>& points) {
  const Json* loss = line.find(key);
  const Json* step = line.find("step");
  if (loss == nullptr || loss->is_null() || step == nullptr) return;
  points.push_back({step->as_int64("step"), loss->as_double(key)});
}

}  // namespace

LossCurve read_loss_curve(const std::filesystem::path& metrics) {
  const std::string text = read_file(metrics);
  LossCurve curve;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json line = parse_json(std::string_view(text).substr(begin, end - begin),
                                 fmt::format("{}: byte {}", metrics.string(), begin));
    append_loss(line, "loss", curve.training);
    append_loss(line, "evaluation/loss", curve.evaluation);
    begin = end + 1;
  }
  return curve;
}

std::vector<LossPoint> finite_points(const std::vector<LossPoint>& points) {
  std::vector<LossPoint> result;
  std::copy_if(points.begin(), points.end(), std::back_inserter(result),
               [](const LossPoint& point) { return std::isfinite(point.loss); });
  return result;
}

std::vector<LossPoint> smoothed_points(const std::vector<LossPoint>& points) {
  const double keep = std::exp(-1 / std::max(1.0, static_cast<double>(points.size()) / 50));
  double sum = 0;
  double weight = 0;
  std::vector<LossPoint> result;
  for (const LossPoint& point : points) {
    sum = sum * keep + point.loss;
    weight = weight * keep + 1;
    result.push_back({point.step, sum / weight});
  }
  return result;
}

std::vector<LossPoint> thinned_points(const std::vector<LossPoint>& points, std::size_t buckets) {
  if (points.size() <= 2 * buckets) return points;
  const auto by_loss = [](const LossPoint& a, const LossPoint& b) { return a.loss < b.loss; };
  std::vector<LossPoint> result;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto at = [&](std::size_t i) {
      return points.begin() + static_cast<std::ptrdiff_t>(i * points.size() / buckets);
    };
    auto [first, second] = std::minmax_element(at(bucket), at(bucket + 1), by_loss);
    if (second < first) std::swap(first, second);
    result.insert(result.end(), {*first, *second});
  }
  return result;
}

}  // namespace parhelion::train
