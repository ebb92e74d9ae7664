#include "support/reference/families.h"

#include <cmath>

namespace parhelion::test {
namespace {

std::int64_t columns_of_wide(const Wide& x) { return ir::number(x.type.shape.back()); }

std::int64_t rows_of_wide(const Wide& x) { return x.size() / columns_of_wide(x); }

/// rsqrt(mean(x[row, :]^2) + eps).
double inverse_rms(const Wide& x, std::int64_t row, double eps) {
  const std::int64_t columns = columns_of_wide(x);
  double sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) sum += x[row * columns + c] * x[row * columns + c];
  return 1 / std::sqrt(sum / static_cast<double>(columns) + eps);
}

}  // namespace

WideOutputs reference(const ir::RmsNorm& op, const WideInputs& in) {
  Wide y = zeros(in[0].type);
  const std::int64_t columns = columns_of_wide(y);
  for (std::int64_t row = 0; row < rows_of_wide(y); ++row) {
    const double inverse = inverse_rms(in[0], row, op.eps);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double unit = in[0][row * columns + c] * inverse;
      y[row * columns + c] = in[1][c] * rounded_as_named(y.kind(), unit);
    }
  }
  return {y};
}

WideOutputs reference(const ir::RmsNormGradInput& op, const WideInputs& in) {
  const Wide &x = in[0], &w = in[1], &dy = in[2];
  Wide dx = zeros(x.type);
  const std::int64_t columns = columns_of_wide(x);
  for (std::int64_t row = 0; row < rows_of_wide(x); ++row) {
    const double inverse = inverse_rms(x, row, op.eps);
    const std::int64_t first = row * columns;
    double mean = 0;
    for (std::int64_t c = 0; c < columns; ++c) mean += w[c] * dy[first + c] * x[first + c];
    mean /= static_cast<double>(columns);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double g = w[c] * dy[first + c];
      dx[first + c] = inverse * (g - x[first + c] * inverse * inverse * mean);
    }
  }
  return {dx};
}

WideOutputs reference(const ir::RmsNormGradWeight& op, const WideInputs& in) {
  Wide acc = in[2];
  const std::int64_t columns = columns_of_wide(in[0]);
  for (std::int64_t row = 0; row < rows_of_wide(in[0]); ++row) {
    const double inverse = inverse_rms(in[0], row, op.eps);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double unit = rounded_as_named(in[0].kind(), in[0][row * columns + c] * inverse);
      acc[c] += in[1][row * columns + c] * unit;
    }
  }
  return {acc};
}

WideOutputs reference(const ir::AddRmsNorm& op, const WideInputs& in) {
  Wide sum = in[0];
  for (std::int64_t i = 0; i < sum.size(); ++i) {
    sum[i] = rounded_as_named(sum.kind(), in[0][i] + in[1][i]);
  }
  return {sum, reference(ir::RmsNorm{op.eps}, {sum, in[2]}).front()};
}

}  // namespace parhelion::test
