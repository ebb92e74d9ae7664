#pragma once

#include <string>
#include <vector>

namespace parhelion::train {

/// One axis of a plot: what lies at its ends, and where it has marks.
struct PlotAxis {
  double low = 0.0;
  double high = 1.0;
  double tick = 1.0;  ///< distance of marks: 1, 2 or 5 times a power of ten
};

/// An axis whose ends are marks at or beyond `low` and `high`, with about `count` marks.
PlotAxis outer_axis(double low, double high, int count);

/// An axis that ends at whole numbers `low` and `high`, with about `count` marks at whole numbers.
PlotAxis exact_axis(double low, double high, int count);

/// Values of the marks on the axis, ascending.
std::vector<double> tick_values(const PlotAxis& axis);

/// A mark's value, with the decimals that tell it from the next.
std::string tick_text(const PlotAxis& axis, double value);

}  // namespace parhelion::train
