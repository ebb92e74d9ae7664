#include "base/random.h"
#include "support/reference/families.h"

#include <algorithm>
#include <cmath>

namespace parhelion::test {
namespace {

Wide with_type(Wide tensor, const ir::TensorType& type) {
  tensor.type = type;
  return tensor;
}

}  // namespace

// Stochastic rounding is left out: a result may then be one bf16 step away.
WideOutputs reference(const ir::AdamUpdate& op, const WideInputs& in) {
  const std::size_t numbers = ir::tensor_count(op);
  Wide p = op.master ? in[numbers - 1] : in[0];
  Wide m = in[2], v = in[3], v_max = op.amsgrad ? in[4] : in[3];
  const Wide correction = in[numbers + 2];
  const double rate = in[numbers + 1][0] * op.lr_scale;
  for (std::int64_t i = 0; i < p.size(); ++i) {
    double d = in[1][i] * in[numbers][0];
    if (!op.decoupled) d += op.weight_decay * p[i];
    if (op.decoupled) p[i] *= 1 - rate * op.weight_decay;
    m[i] = op.beta1 * m[i] + (1 - op.beta1) * d;
    v[i] = op.beta2 * v[i] + (1 - op.beta2) * d * d;
    v_max[i] = op.amsgrad ? std::max(v_max[i], v[i]) : v[i];
    p[i] -= rate * m[i] * correction[0] / (std::sqrt(v_max[i]) * correction[1] + op.eps);
  }
  WideOutputs outputs = {with_type(p, in[0].type), m, v};
  if (op.amsgrad) outputs.push_back(v_max);
  if (op.master) outputs.push_back(p);
  return outputs;
}

WideOutputs reference(const ir::SgdUpdate& op, const WideInputs& in) {
  const bool has_momentum = op.momentum != 0;
  const std::size_t numbers = ir::tensor_count(op);
  Wide p = op.master ? in[numbers - 1] : in[0];
  Wide b = in[has_momentum ? 2 : 1];
  for (std::int64_t i = 0; i < p.size(); ++i) {
    double d = in[1][i] * in[numbers][0] + op.weight_decay * p[i];
    if (has_momentum) {
      b[i] = op.momentum * b[i] + in[numbers + 2][0] * d;
      d = op.nesterov ? d + op.momentum * b[i] : b[i];
    }
    p[i] -= in[numbers + 1][0] * op.lr_scale * d;
  }
  WideOutputs outputs = {with_type(p, in[0].type)};
  if (has_momentum) outputs.push_back(b);
  if (op.master) outputs.push_back(p);
  return outputs;
}

WideOutputs reference(const ir::Accumulate&, const WideInputs& in) {
  Wide sum = in[1];
  for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] += in[0][i];
  return {sum};
}

WideOutputs reference(const ir::Clear&, const WideInputs& in) { return {zeros(in[0].type)}; }

WideOutputs reference(const ir::SquaredNorm&, const WideInputs& in) {
  Wide y = zeros(ir::TensorType(ir::Kind::f32, {}));
  for (const double each : in[0].values) y[0] += each * each;
  return {y};
}

WideOutputs reference(const ir::StepScale& op, const WideInputs& in) {
  const ir::TensorType number(ir::Kind::f32, {});
  Wide loss = zeros(number), norm = zeros(number), scale = zeros(number);
  Wide apply = zeros(ir::TensorType(ir::Kind::bool8, {}));
  const double weight = in[1][0];
  if (weight == 0) return {loss, norm, scale, apply};
  loss[0] = in[0][0] / weight;
  norm[0] = std::sqrt(in[2][0]) / weight;
  scale[0] = (op.max_norm == 0 ? 1 : std::min(1.0, op.max_norm / (norm[0] + 1e-6))) / weight;
  apply[0] = weight > 0 && std::isfinite(loss[0]) && std::isfinite(norm[0]) ? 1 : 0;
  return {loss, norm, scale, apply};
}

WideOutputs reference(const ir::Scale& op, const WideInputs& in) {
  Wide y = in[0];
  for (double& each : y.values) each *= op.factor;
  return {y};
}

WideOutputs reference(const ir::Dropout& op, const WideInputs& in) {
  Wide y = in[0];
  const auto seed = static_cast<std::uint64_t>(in[1][0]);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::uint32_t noise =
        noise16(seed, static_cast<std::uint64_t>(op.tag), static_cast<std::uint64_t>(i));
    y[i] = noise >= std::lround(65536 * op.probability) ? y[i] / (1 - op.probability) : 0;
  }
  return {y};
}

}  // namespace parhelion::test
