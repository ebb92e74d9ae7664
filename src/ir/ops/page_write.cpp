#include "ir/ops/page_write.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const PageWrite&) {
  return {.family = 13,
          .name = "page_write",
          .ties = {{.input = 2, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const PageWrite&, Types) {
  return {{.input_dim = {0, 0, -1}, .output_dim = {-1}, .how = Fold::whole},
          {.input_dim = {-1, -1, 0}, .output_dim = {0}, .how = Fold::whole},
          {.input_dim = {-1, -1, 1}, .output_dim = {1}, .how = Fold::whole},
          {.input_dim = {1, -1, 2}, .output_dim = {2}},
          {.input_dim = {2, -1, 3}, .output_dim = {3}}};
}

std::vector<TensorType> infer(const PageWrite&, Types inputs) {
  check_arity("page_write", inputs, 3);
  const TensorType& x = inputs[0];
  check_rank("page_write C1", "x", x, 3);
  check_type("page_write C2", "location", inputs[1], TensorType(Kind::i64, {x.shape[0]}));
  check_rank("page_write C3", "pages", inputs[2], 4);
  const Shape& pages = inputs[2].shape;
  check_type("page_write C3", "pages", inputs[2],
             TensorType(x.kind(), {pages[0], pages[1], x.shape[1], x.shape[2]}));
  return {inputs[2]};
}

void gradient(const PageWrite&, GradientContext&) {
  fail(ErrorKind::invalid, "page_write: has no gradient, train through attention");
}

Cost cost(const PageWrite&, Types inputs, Types) {
  return {.flops = 0, .bytes = 2.0 * static_cast<double>(byte_count(inputs[0]))};
}

}  // namespace parhelion::ir
