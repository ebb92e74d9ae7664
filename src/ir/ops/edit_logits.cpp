#include "ir/ops/edit_logits.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

#include <array>
#include <string_view>

namespace parhelion::ir {

Traits traits(const EditLogits&) { return {.family = 40, .name = "edit_logits"}; }

// A row's result is its own, but which edits are its own says edit_indptr: rows cannot be cut
// without it.
std::vector<Factor> factors(const EditLogits&, Types) {
  return {{.input_dim = {0, -1, -1, -1, -1, -1, 0}, .output_dim = {0}, .how = Fold::whole},
          {.input_dim = {1, -1, -1, -1, -1, -1, -1}, .output_dim = {1}, .how = Fold::whole},
          {.input_dim = {-1, -1, 0, 0, 0, 0, -1}, .output_dim = {-1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const EditLogits&, Types inputs) {
  check_arity("edit_logits", inputs, 7);
  const TensorType& logits = inputs[0];
  check_rank("edit_logits C1", "logits", logits, 2);
  check_kind("edit_logits C1", "logits", logits, Kind::f32);
  const Dim rows = logits.shape[0];
  Dim indptr = rows;
  indptr.base += 1;
  check_type("edit_logits C2", "edit_indptr", inputs[1], TensorType(Kind::i32, {indptr}));
  check_rank("edit_logits C3", "edit_ids", inputs[2], 1);
  check_kind("edit_logits C3", "edit_ids", inputs[2], Kind::i32);
  constexpr std::array<std::string_view, 3> kNames = {"edit_bias", "edit_scale", "edit_subtract"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    check_type("edit_logits C4", kNames[i], inputs[i + 3], TensorType(Kind::f32, inputs[2].shape));
  }
  const std::int64_t words = mask_words(number(logits.shape[1]));
  check_type("edit_logits C5", "mask", inputs[6], TensorType(Kind::i32, {rows, words}));
  return {logits};
}

void gradient(const EditLogits&, GradientContext&) {
  fail(ErrorKind::invalid, "edit_logits: has no gradient");
}

Cost cost(const EditLogits&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 3.0 * static_cast<double>(element_count(inputs[2]));
  return result;
}

}  // namespace parhelion::ir
