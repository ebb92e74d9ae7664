#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace parhelion::train {

struct LossPoint {
  std::int64_t step = 0;
  double loss = 0.0;
  bool operator==(const LossPoint&) const = default;
};

/// The losses of a run, by ascending steps.
struct LossCurve {
  std::vector<LossPoint> training;
  std::vector<LossPoint> evaluation;
};

/// The metrics `loss` and `evaluation/loss` that are in a file as of jsonl_line.
///
/// Errors: invalid if the file is missing, corrupt if a line is no JSON.
LossCurve read_loss_curve(const std::filesystem::path& metrics);

/// Those that are neither NaN nor infinite.
std::vector<LossPoint> finite_points(const std::vector<LossPoint>& points);

/// At each point the mean of it and those before, whose weights fall by 1/e in a fiftieth of all.
std::vector<LossPoint> smoothed_points(const std::vector<LossPoint>& points);

/// The least and the greatest of each of `buckets` equal parts, in their order, so that a long run
/// is drawn in few points; all points if they are not more than that.
std::vector<LossPoint> thinned_points(const std::vector<LossPoint>& points, std::size_t buckets);

}  // namespace parhelion::train
