#include "train/track/loss_curve.h"

#include "train/track/plot_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parhelion::train {
namespace {

// The drawing in units of its view box, which readers scale.
constexpr double kWidth = 840;
constexpr double kHeight = 440;
constexpr double kLeft = 64;
constexpr double kRight = 820;
constexpr double kTop = 72;
constexpr double kBottom = 388;
constexpr std::size_t kLineBuckets = 800;

constexpr std::string_view kStyle = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 16px; font-weight: 600; }
.paper { fill: #ffffff; }
.grid { stroke: #d8dee4; }
.training, .smoothed, .evaluation { fill: none; stroke-linejoin: round; }
.training { stroke: #9ec1ea; stroke-width: 1; }
.smoothed { stroke: #0b5cad; stroke-width: 2; }
.evaluation { stroke: #b35309; stroke-width: 2; }
.point { fill: #b35309; }
@media (prefers-color-scheme: dark) {
text { fill: #d0d7de; }
.paper { fill: #0d1117; }
.grid { stroke: #30363d; }
.training { stroke: #2f5682; }
.smoothed { stroke: #6cb0f5; }
.evaluation { stroke: #f0a050; }
.point { fill: #f0a050; }
}
</style>
)";

struct PlotFrame {
  PlotAxis steps;
  PlotAxis losses;

  double x(double step) const {
    return kLeft + (step - steps.low) / (steps.high - steps.low) * (kRight - kLeft);
  }
  double y(double loss) const {
    return kBottom - (loss - losses.low) / (losses.high - losses.low) * (kBottom - kTop);
  }
};

std::string escaped_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

PlotFrame frame_around(const LossCurve& curve) {
  PlotFrame frame{{INFINITY, -INFINITY, 1}, {INFINITY, -INFINITY, 1}};
  for (const auto* points : {&curve.training, &curve.evaluation}) {
    for (const LossPoint& point : *points) {
      const auto step = static_cast<double>(point.step);
      frame.steps.low = std::min(frame.steps.low, step);
      frame.steps.high = std::max(frame.steps.high, step);
      frame.losses.low = std::min(frame.losses.low, point.loss);
      frame.losses.high = std::max(frame.losses.high, point.loss);
    }
  }
  return {exact_axis(frame.steps.low, frame.steps.high, 8),
          outer_axis(frame.losses.low, frame.losses.high, 6)};
}

std::string axes_svg(const PlotFrame& frame) {
  std::string svg;
  for (const double loss : tick_values(frame.losses)) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        kLeft, frame.y(loss), kRight, kLeft - 8, frame.y(loss) + 4, tick_text(frame.losses, loss));
  }
  for (const double step : tick_values(frame.steps)) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {}v6\"/><text x=\"{:.1f}\" y=\"{}\" "
        "text-anchor=\"middle\">{}</text>\n",
        frame.x(step), kBottom, frame.x(step), kBottom + 22, tick_text(frame.steps, step));
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>\n",
                     (kLeft + kRight) / 2, kBottom + 42);
  svg += fmt::format("<text x=\"16\" y=\"{}\">loss</text>\n", kTop - 14);
  return svg;
}

std::string line_svg(const PlotFrame& frame, const std::vector<LossPoint>& points,
                     std::string_view kind) {
  std::string path;
  for (const LossPoint& point : thinned_points(points, kLineBuckets)) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L',
                        frame.x(static_cast<double>(point.step)), frame.y(point.loss));
  }
  return path.empty() ? path : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
}

std::string points_svg(const PlotFrame& frame, const std::vector<LossPoint>& points) {
  std::string svg;
  for (const LossPoint& point : points) {
    svg += fmt::format(
        "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>step {}: "
        "{:.4f}</title></circle>\n",
        frame.x(static_cast<double>(point.step)), frame.y(point.loss), point.step, point.loss);
  }
  return svg;
}

/// What each line is, with the last value of it.
std::string legend_svg(const LossCurve& curve, const std::vector<LossPoint>& smoothed) {
  std::string svg;
  double x = kRight;
  const auto add = [&](std::string_view kind, const std::vector<LossPoint>& points) {
    if (points.empty()) return;
    x -= 160;
    svg += fmt::format(
        "<path class=\"{}\" d=\"M{} {}h22\"/><text x=\"{}\" y=\"{}\">{} {:.3f}</text>\n", kind, x,
        kTop - 18, x + 28, kTop - 14, kind, points.back().loss);
  };
  add("evaluation", curve.evaluation);
  add("smoothed", smoothed);
  add("training", curve.training);
  return svg;
}

std::string plot_svg(const LossCurve& curve) {
  const PlotFrame frame = frame_around(curve);
  const std::vector<LossPoint> smoothed = smoothed_points(curve.training);
  return axes_svg(frame) + line_svg(frame, curve.training, "training") +
         line_svg(frame, smoothed, "smoothed") + line_svg(frame, curve.evaluation, "evaluation") +
         points_svg(frame, curve.evaluation) + legend_svg(curve, smoothed);
}

}  // namespace

std::string loss_curve_svg(const LossCurve& curve, std::string_view title) {
  const LossCurve finite = {finite_points(curve.training), finite_points(curve.evaluation)};
  const bool is_empty = finite.training.empty() && finite.evaluation.empty();
  const std::string name = escaped_xml(title);
  const std::string plot =
      is_empty ? fmt::format("<text x=\"{}\" y=\"{}\">no loss was recorded</text>\n", kLeft, kTop)
               : plot_svg(finite);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n"
      "<title>{}</title>\n{}<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n"
      "<text class=\"title\" x=\"{}\" y=\"30\">{}</text>\n{}</svg>\n",
      kWidth, kHeight, name, kStyle, kWidth, kHeight, kLeft, name, plot);
}

}  // namespace parhelion::train
