#pragma once

#include "train/track/loss_points.h"

#include <string>
#include <string_view>

namespace parhelion::train {

/// Draws the losses over steps as SVG: each, smoothed, and evaluations as points. Losses that are
/// not finite are passed over. The colours follow the reader's light or dark setting.
std::string loss_curve_svg(const LossCurve& curve, std::string_view title);

}  // namespace parhelion::train
