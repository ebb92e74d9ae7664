#include "ir/ops/embedding.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const Embedding&) { return {.family = 2, .name = "embedding"}; }

std::vector<Factor> factors(const Embedding&, Types) {
  return {{.input_dim = {0, -1}, .output_dim = {0}},
          {.input_dim = {-1, 1}, .output_dim = {1}},
          {.input_dim = {-1, 0}, .output_dim = {-1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const Embedding&, Types inputs) {
  check_arity("embedding", inputs, 2);
  check_rank("embedding C1", "ids", inputs[0], 1);
  check_kind("embedding C1", "ids", inputs[0], Kind::i32);
  check_rank("embedding C2", "table", inputs[1], 2);
  check_activation("embedding C2", "table", inputs[1]);
  return {TensorType(inputs[1].kind(), {inputs[0].shape[0], inputs[1].shape[1]})};
}

void gradient(const Embedding&, GradientContext& context) {
  if (!context.wants(1)) return;
  const ValueId dy = context.output_gradient(0);
  context.advance(1, context.one(EmbeddingGrad{}, {context.input(0), dy, context.chain(1)}));
}

Cost cost(const Embedding&, Types inputs, Types outputs) {
  const double rows = static_cast<double>(byte_count(outputs[0]));
  return {.flops = 0, .bytes = static_cast<double>(byte_count(inputs[0])) + 2 * rows};
}

Traits traits(const EmbeddingGrad&) {
  return {.family = 3,
          .name = "embedding_grad",
          .ties = {{.input = 2, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const EmbeddingGrad&, Types) {
  return {{.input_dim = {0, 0, -1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 1},
          {.input_dim = {-1, 1, 1}, .output_dim = {1}},
          {.input_dim = {-1, -1, 0}, .output_dim = {0}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const EmbeddingGrad&, Types inputs) {
  check_arity("embedding_grad", inputs, 3);
  check_rank("embedding_grad C1", "ids", inputs[0], 1);
  check_kind("embedding_grad C1", "ids", inputs[0], Kind::i32);
  check_rank("embedding_grad C3", "acc", inputs[2], 2);
  check_kind("embedding_grad C3", "acc", inputs[2], Kind::f32);
  check_activation("embedding_grad C2", "dy", inputs[1]);
  check_shape("embedding_grad C2", "dy", inputs[1], {inputs[0].shape[0], inputs[2].shape[1]});
  return {inputs[2]};
}

void gradient(const EmbeddingGrad&, GradientContext&) {
  fail(ErrorKind::bug, "embedding_grad: has no gradient");
}

Cost cost(const EmbeddingGrad&, Types inputs, Types) {
  const double count = static_cast<double>(element_count(inputs[1]));
  return {.flops = count, .bytes = static_cast<double>(byte_count(inputs[1])) + 8 * count};
}

}  // namespace parhelion::ir
