#include "support/reference/families.h"

#include <cmath>
#include <numbers>

namespace parhelion::test {
namespace {

/// Whether ids[t] names a row.
bool names_row(const Wide& ids, std::int64_t t, std::int64_t rows) {
  return ids[t] >= 0 && ids[t] < static_cast<double>(rows);
}

double rope_scaled(const ir::RopeTable& op, double frequency) {
  if (op.scaling == ir::RopeScaling::none) return frequency;
  const double slow = frequency / op.factor;
  if (op.scaling == ir::RopeScaling::linear) return slow;
  const double turns =
      static_cast<double>(op.original_positions) * frequency / (2 * std::numbers::pi);
  if (turns > op.high_frequency) return frequency;
  if (turns < op.low_frequency) return slow;
  const double kept = (turns - op.low_frequency) / (op.high_frequency - op.low_frequency);
  return (1 - kept) * slow + kept * frequency;
}

}  // namespace

WideOutputs reference(const ir::Embedding&, const WideInputs& in) {
  const std::int64_t columns = in[1].dim(1);
  Wide y = zeros(ir::TensorType(in[1].kind(), {in[0].dim(0), columns}));
  for (std::int64_t t = 0; t < in[0].size(); ++t) {
    if (!names_row(in[0], t, in[1].dim(0))) continue;
    const std::int64_t from = static_cast<std::int64_t>(in[0][t]) * columns;
    for (std::int64_t c = 0; c < columns; ++c) y[t * columns + c] = in[1][from + c];
  }
  return {y};
}

WideOutputs reference(const ir::EmbeddingGrad&, const WideInputs& in) {
  Wide acc = in[2];
  const std::int64_t columns = acc.dim(1);
  for (std::int64_t t = 0; t < in[0].size(); ++t) {
    if (!names_row(in[0], t, acc.dim(0))) continue;
    const std::int64_t to = static_cast<std::int64_t>(in[0][t]) * columns;
    for (std::int64_t c = 0; c < columns; ++c) acc[to + c] += in[1][t * columns + c];
  }
  return {acc};
}

WideOutputs reference(const ir::RopeTable& op, const WideInputs&) {
  Wide table = zeros(ir::TensorType(ir::Kind::f32, {op.positions, op.dim}));
  const std::int64_t half = op.dim / 2;
  for (std::int64_t i = 0; i < op.positions * half; ++i) {
    const std::int64_t position = i / half, c = i % half;
    const double power = -2.0 * static_cast<double>(c) / static_cast<double>(op.dim);
    const double angle = static_cast<double>(position) * rope_scaled(op, std::pow(op.theta, power));
    table[position * op.dim + c] = std::cos(angle);
    table[position * op.dim + half + c] = std::sin(angle);
  }
  return {table};
}

WideOutputs reference(const ir::Rope& op, const WideInputs& in) {
  Wide y = in[0];
  const std::int64_t heads = y.dim(1), d = y.dim(2), half = d / 2;
  for (std::int64_t i = 0; i < y.dim(0) * heads * half; ++i) {
    const std::int64_t row = i / half, c = i % half;
    const std::int64_t angle = static_cast<std::int64_t>(in[1][row / heads]) * d + c;
    const double cosine = in[2][angle];
    const double sine = op.inverse ? -in[2][angle + half] : in[2][angle + half];
    const double low = in[0][row * d + c], high = in[0][row * d + half + c];
    y[row * d + c] = low * cosine - high * sine;
    y[row * d + half + c] = high * cosine + low * sine;
  }
  return {y};
}

}  // namespace parhelion::test
