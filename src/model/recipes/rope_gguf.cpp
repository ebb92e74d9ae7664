#include "model/recipes/rope_gguf.h"

#include "base/error.h"
#include "state/convert.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace parhelion::model {
namespace {

constexpr double kRopeTheta = 10000.0;
constexpr std::string_view kDivisorsName = "rope_freqs.weight";

/// Llama 3 as released; files keep no key for these.
ir::RopeTable llama3_rope(ir::RopeTable rope, double factor) {
  rope.scaling = ir::RopeScaling::by_wavelength;
  rope.factor = factor;
  rope.low_frequency = 1.0;
  rope.high_frequency = 4.0;
  rope.original_positions = 8192;
  return rope;
}

/// What the llama3 rule divides frequency `index` by: 1 for short wavelengths, `factor` for long
/// ones, and between them 1 / ((1 - s) / factor + s) with s rising from 0 to 1.
double llama3_divisor(const ir::RopeTable& rope, std::int64_t index) {
  const double exponent = 2.0 * static_cast<double>(index) / static_cast<double>(rope.dim);
  const double wavelength = 2.0 * std::numbers::pi * std::pow(rope.theta, exponent);
  const double turns = static_cast<double>(rope.original_positions) / wavelength;
  const double smooth = std::clamp(
      (turns - rope.low_frequency) / (rope.high_frequency - rope.low_frequency), 0.0, 1.0);
  return 1.0 / ((1.0 - smooth) / rope.factor + smooth);
}

std::vector<float> rope_divisors(const state::TensorView& tensor, std::int64_t head_dim) {
  ensure(tensor.shape == state::Shape{head_dim / 2}, ErrorKind::invalid,
         "{}: has shape {}, expected [{}]", kDivisorsName, state::shape_text(tensor.shape),
         head_dim / 2);
  std::vector<float> result(static_cast<std::size_t>(head_dim / 2));
  state::convert(tensor.kind, tensor.bytes, ir::Kind::f32,
                 std::as_writable_bytes(std::span(result)));
  return result;
}

ir::RopeTable rope_from_divisors(const ir::RopeTable& plain, const std::vector<float>& divisors) {
  const ir::RopeTable rope =
      llama3_rope(plain, double{*std::max_element(divisors.begin(), divisors.end())});
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double expected = llama3_divisor(rope, static_cast<std::int64_t>(i));
    ensure(std::abs(double{divisors[i]} - expected) <= 1e-4 * expected, ErrorKind::unsupported,
           "{}: divisor {} is {}, expected {} by the rule of Llama 3", kDivisorsName, i,
           double{divisors[i]}, expected);
  }
  return rope;
}

void read_gguf_scaling(GgufKeys& keys, ir::RopeTable& rope) {
  const std::string type = keys.text("rope.scaling.type", "none");
  ensure(type == "none" || type == "linear", ErrorKind::unsupported,
         "rope.scaling.type is \"{}\", expected \"none\" or \"linear\"", type);
  const double factor = keys.positive("rope.scaling.factor", 1.0);
  const double scale = keys.positive("rope.scale_linear", factor);
  if (type == "none" && scale == 1.0) return;
  rope.scaling = ir::RopeScaling::linear;
  rope.factor = scale;
}

}  // namespace

ir::RopeTable rope_from_gguf(GgufKeys& keys, const state::Checkpoint& checkpoint,
                             std::int64_t head_dim) {
  ir::RopeTable rope;
  rope.theta = keys.positive("rope.freq_base", kRopeTheta);
  rope.dim = keys.size("rope.dimension_count", head_dim);
  ensure(rope.dim == head_dim, ErrorKind::unsupported,
         "rope.dimension_count is {}, expected the head dim {}", rope.dim, head_dim);
  read_gguf_scaling(keys, rope);
  const state::TensorView* tensor = checkpoint.find(kDivisorsName);
  return tensor ? rope_from_divisors(rope, rope_divisors(*tensor, head_dim)) : rope;
}

}  // namespace parhelion::model
