#pragma once

#include "train/track/loss_points.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::train {

/// Losses as a line of text for a terminal, such as `3.21 █▇▆▄▂▁ 0.48`: the first, bars of means of
/// at most `width` equal parts, the last. Empty where no loss is finite.
std::string loss_sparkline(const std::vector<LossPoint>& points, std::int64_t width);

}  // namespace parhelion::train
