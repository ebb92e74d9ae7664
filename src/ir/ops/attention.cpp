#include "ir/ops/attention.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

/// Checks C1 to C5 of either op.
template <class AnyAttention>
void check_attention(std::string_view family, const AnyAttention& op, Types qkv,
                     const TensorType& indptr) {
  const auto label = [&](int check) { return fmt::format("{} C{}", family, check); };
  const TensorType& q = qkv[0];
  const TensorType& k = qkv[1];
  check_rank(label(1), "q", q, 3);
  check_rank(label(1), "k", k, 3);
  check_activation(label(1), "q", q);
  check_kind(label(1), "k", k, q.kind());
  check_shape(label(2), "k", k, {q.shape[0], k.shape[1], q.shape[2]});
  ensure(number(k.shape[1]) > 0 && number(q.shape[1]) % number(k.shape[1]) == 0, ErrorKind::invalid,
         "{}: {} query heads over {} key heads, expected a multiple", label(2),
         to_string(q.shape[1]), to_string(k.shape[1]));
  check_type(label(3), "v", qkv[2], k);
  check_rank(label(4), "document_indptr", indptr, 1);
  check_kind(label(4), "document_indptr", indptr, Kind::i32);
  ensure(op.scale > 0 && op.window >= 0, ErrorKind::invalid,
         "{}: scale {}, window {}, expected > 0 and >= 0", label(5), op.scale, op.window);
  ensure(op.longest >= 0, ErrorKind::invalid, "{}: longest {}, expected >= 0", label(5),
         op.longest);
}

/// Tokens need their whole document; heads are parallel, a key head with its group of query heads.
std::vector<Factor> attention_factors(std::size_t inputs, std::size_t outputs) {
  Factor tokens{.how = Fold::whole};
  Factor heads;
  Factor features{.how = Fold::whole};
  for (std::size_t i = 0; i + 1 < inputs; ++i) {
    tokens.input_dim.push_back(0);
    heads.input_dim.push_back(1);
    features.input_dim.push_back(2);
  }
  for (Factor* factor : {&tokens, &heads, &features}) factor->input_dim.push_back(-1);
  tokens.output_dim.assign(outputs, 0);
  heads.output_dim.assign(outputs, 1);
  features.output_dim.assign(outputs, 2);
  return {tokens, heads, features};
}

/// Flops of the causal half of scores and outputs, `products` matmuls of it.
double attention_flops(const TensorType& q, double products) {
  return products * static_cast<double>(element_count(q)) * static_cast<double>(number(q.shape[0]));
}

}  // namespace

Traits traits(const Attention&) { return {.family = 10, .name = "attention"}; }

std::vector<Factor> factors(const Attention&, Types) {
  std::vector<Factor> result = attention_factors(4, 2);
  result[2].output_dim[1] = -1;
  return result;
}

std::vector<TensorType> infer(const Attention& op, Types inputs) {
  check_arity("attention", inputs, 4);
  check_attention("attention", op, inputs.first(3), inputs[3]);
  return {inputs[0], TensorType(Kind::f32, {inputs[0].shape[0], inputs[0].shape[1]})};
}

void gradient(const Attention& op, GradientContext& context) {
  if (!context.wants(0) && !context.wants(1) && !context.wants(2)) return;
  const auto gradients =
      context.add(AttentionGrad{op.scale, op.window, op.longest},
                  {context.input(0), context.input(1), context.input(2), context.output(0),
                   context.output(1), context.output_gradient(0), context.input(3)});
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.wants(i)) context.give(i, gradients[i]);
  }
}

Cost cost(const Attention&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = attention_flops(inputs[0], 2);
  return result;
}

Traits traits(const AttentionGrad&) { return {.family = 11, .name = "attention_grad"}; }

std::vector<Factor> factors(const AttentionGrad&, Types) {
  std::vector<Factor> result = attention_factors(7, 3);
  result[2].input_dim[4] = -1;
  return result;
}

std::vector<TensorType> infer(const AttentionGrad& op, Types inputs) {
  check_arity("attention_grad", inputs, 7);
  check_attention("attention_grad", op, inputs.first(3), inputs[6]);
  check_type("attention_grad C6", "o", inputs[3], inputs[0]);
  check_type("attention_grad C6", "do", inputs[5], inputs[0]);
  check_type("attention_grad C7", "lse", inputs[4],
             TensorType(Kind::f32, {inputs[0].shape[0], inputs[0].shape[1]}));
  return {inputs[0], inputs[1], inputs[2]};
}

void gradient(const AttentionGrad&, GradientContext&) {
  fail(ErrorKind::bug, "attention_grad: has no gradient");
}

Cost cost(const AttentionGrad&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = attention_flops(inputs[0], 5);
  return result;
}

}  // namespace parhelion::ir
