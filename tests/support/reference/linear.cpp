#include "support/reference/families.h"

#include <algorithm>
#include <cmath>

namespace parhelion::test {
namespace {

/// A matrix as a formula sees it.
struct WideMatrix {
  const Wide& tensor;
  bool transposed = false;

  std::int64_t rows() const { return tensor.dim(transposed ? 1 : 0); }
  std::int64_t cols() const { return tensor.dim(transposed ? 0 : 1); }
  double operator()(std::int64_t r, std::int64_t c) const {
    return transposed ? tensor[c * rows() + r] : tensor[r * cols() + c];
  }
};

/// a b as a tensor of `kind`, not rounded.
Wide wide_product(const WideMatrix& a, const WideMatrix& b, ir::Kind kind) {
  Wide y = zeros(ir::TensorType(kind, {a.rows(), b.cols()}));
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    for (std::int64_t k = 0; k < a.cols(); ++k) {
      for (std::int64_t c = 0; c < b.cols(); ++c) y[r * b.cols() + c] += a(r, k) * b(k, c);
    }
  }
  return y;
}

constexpr double kIgnoredLabel = -100;

}  // namespace

double wide_log_sum_exp(const Wide& x, std::int64_t first, std::int64_t count) {
  const auto begin = x.values.begin() + first;
  const double max = *std::max_element(begin, begin + count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(x[first + i] - max);
  return max + std::log(sum);
}

WideOutputs reference(const ir::MatMul& op, const WideInputs& in) {
  Wide y = wide_product({in[0], op.transpose_a}, {in[1], op.transpose_b}, op.out);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    if (op.bias) y[i] += in[2][i % y.dim(1)];
    if (op.accumulate) y[i] += in[2][i];
  }
  return {y};
}

WideOutputs reference(const ir::GateUp&, const WideInputs& in) {
  Wide gate = wide_product({in[0]}, {in[1], true}, in[0].kind());
  Wide up = wide_product({in[0]}, {in[2], true}, in[0].kind());
  for (Wide* product : {&gate, &up}) {
    for (double& each : product->values) each = rounded_as_named(in[0].kind(), each);
  }
  return reference(ir::Swiglu{}, {gate, up});
}

WideOutputs reference(const ir::LinearCrossEntropy&, const WideInputs& in) {
  const Wide z = wide_product({in[0]}, {in[1], true}, ir::Kind::f32);
  Wide loss = zeros(ir::TensorType(ir::Kind::f32, {z.dim(0)}));
  Wide lse = loss;
  for (std::int64_t t = 0; t < z.dim(0); ++t) {
    lse[t] = wide_log_sum_exp(z, t * z.dim(1), z.dim(1));
    if (in[2][t] == kIgnoredLabel) continue;
    loss[t] = lse[t] - z[t * z.dim(1) + static_cast<std::int64_t>(in[2][t])];
  }
  return {loss, lse};
}

WideOutputs reference(const ir::LinearCrossEntropyGrad& op, const WideInputs& in) {
  Wide dz = wide_product({in[0]}, {in[1], true}, in[0].kind());
  for (std::int64_t i = 0; i < dz.size(); ++i) {
    const std::int64_t t = i / dz.dim(1);
    const bool is_label = static_cast<double>(i % dz.dim(1)) == in[2][t];
    const double slope = std::exp(dz[i] - in[3][t]) - (is_label ? 1 : 0);
    dz[i] = in[2][t] == kIgnoredLabel ? 0 : rounded_as_named(dz.kind(), in[4][t] * slope);
  }
  const Wide dhidden = wide_product({dz}, {in[1]}, in[0].kind());
  if (!op.accumulate) return {dhidden};
  Wide acc = wide_product({dz, true}, {in[0]}, ir::Kind::f32);
  for (std::int64_t i = 0; i < acc.size(); ++i) acc[i] += in[5][i];
  return {dhidden, acc};
}

WideOutputs reference(const ir::LinearCrossEntropyStep& op, const WideInputs& in) {
  const WideOutputs forward = reference(ir::LinearCrossEntropy{}, {in[0], in[1], in[2]});
  WideInputs inputs = in;
  inputs.insert(inputs.begin() + 3, forward[1]);
  WideOutputs result = reference(ir::LinearCrossEntropyGrad{op.accumulate}, inputs);
  result.insert(result.begin(), forward[0]);
  return result;
}

}  // namespace parhelion::test
