#include "ir/ops/sample.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

#include <array>
#include <string_view>

namespace parhelion::ir {

Traits traits(const Sample&) { return {.family = 27, .name = "sample", .effect = Effect::random}; }

std::vector<Factor> factors(const Sample&, Types) {
  return {{.input_dim = {0, 0, 0, 0, 0, 0, 0}, .output_dim = {0, 0}},
          {.input_dim = {1, -1, -1, -1, -1, -1, -1}, .output_dim = {-1, -1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const Sample&, Types inputs) {
  check_arity("sample", inputs, 7);
  check_rank("sample C1", "logits", inputs[0], 2);
  check_kind("sample C1", "logits", inputs[0], Kind::f32);
  constexpr std::array<std::string_view, 6> kNames = {"temperature", "top_k", "top_p",
                                                      "min_p",       "seed",  "offset"};
  constexpr std::array kKinds = {Kind::f32, Kind::i32, Kind::f32, Kind::f32, Kind::u64, Kind::u64};
  const Shape rows = {inputs[0].shape[0]};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    check_type("sample C2", kNames[i], inputs[i + 1], TensorType(kKinds[i], rows));
  }
  return {TensorType(Kind::i32, rows), TensorType(Kind::f32, rows)};
}

void gradient(const Sample&, GradientContext&) {
  fail(ErrorKind::invalid, "sample: has no gradient");
}

Cost cost(const Sample&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 4.0 * static_cast<double>(element_count(inputs[0]));
  return result;
}

}  // namespace parhelion::ir
