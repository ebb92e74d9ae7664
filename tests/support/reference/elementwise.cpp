#include "support/reference/families.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace parhelion::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

WideOutputs reference(const ir::Swiglu&, const WideInputs& in) {
  Wide h = in[0];
  for (std::int64_t i = 0; i < h.size(); ++i) {
    h[i] = rounded_as_named(h.kind(), in[0][i] * logistic(in[0][i])) * in[1][i];
  }
  return {h};
}

WideOutputs reference(const ir::SwigluGrad&, const WideInputs& in) {
  Wide dgate = in[0], dup = in[0];
  for (std::int64_t i = 0; i < dgate.size(); ++i) {
    const double x = in[0][i], s = logistic(x);
    dgate[i] = in[2][i] * in[1][i] * s * (1 + x * (1 - s));
    dup[i] = in[2][i] * rounded_as_named(dup.kind(), x * s);
  }
  return {dgate, dup};
}

WideOutputs reference(const ir::Binary& op, const WideInputs& in) {
  Wide y = in[0];
  const bool is_product = op.function == ir::BinaryFunction::multiply;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y[i] = is_product ? in[0][i] * in[1][i] : in[0][i] + in[1][i];
  }
  return {y};
}

WideOutputs reference(const ir::Cast& op, const WideInputs& in) {
  Wide y = zeros(ir::TensorType(op.to, in[0].type.shape));
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = rounded_as_named(op.to, in[0][i]);
  return {y};
}

WideOutputs reference(const ir::Reduce& op, const WideInputs& in) {
  Wide y = zeros(ir::infer(op, std::vector{in[0].type}).front());
  const bool is_max = op.function == ir::ReduceFunction::max;
  if (is_max) std::ranges::fill(y.values, -std::numeric_limits<double>::infinity());
  const std::int64_t columns = y.size() == 0 ? 0 : in[0].size() / y.size();
  for (std::int64_t i = 0; i < in[0].size(); ++i) {
    double& to = y[i / columns];
    to = is_max ? std::max(to, in[0][i]) : to + in[0][i];
  }
  if (op.function == ir::ReduceFunction::mean) {
    for (double& each : y.values) each /= static_cast<double>(columns);
  }
  return {y};
}

WideOutputs reference(const ir::Broadcast& op, const WideInputs& in) {
  Wide y = zeros(ir::infer(op, std::vector{in[0].type}).front());
  const std::int64_t columns = y.size() == 0 ? 0 : y.size() / in[0].size();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y[i] = in[0][i / columns] / (op.mean ? static_cast<double>(columns) : 1);
  }
  return {y};
}

WideOutputs reference(const ir::AccumulateRows&, const WideInputs& in) {
  Wide acc = in[1];
  for (std::int64_t i = 0; i < in[0].size(); ++i) acc[i % in[0].dim(1)] += in[0][i];
  return {acc};
}

WideOutputs reference(const ir::Fill& op, const WideInputs&) {
  Wide y = zeros(ir::TensorType(op.kind, op.shape));
  std::ranges::fill(y.values, op.value);
  return {y};
}

WideOutputs reference(const ir::Reshape& op, const WideInputs& in) {
  Wide y = in[0];
  y.type.shape = op.shape;
  return {y};
}

}  // namespace parhelion::test
