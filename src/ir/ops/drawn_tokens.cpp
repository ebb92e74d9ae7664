#include "ir/ops/drawn_tokens.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

void check_token_ids(std::string_view label, std::string_view operand, const TensorType& type) {
  check_rank(label, operand, type, 1);
  check_kind(label, operand, type, Kind::i32);
}

/// Two numbers a row, and one read or written elsewhere.
Cost row_cost(const TensorType& rows) {
  return {.flops = 0, .bytes = 3.0 * static_cast<double>(byte_count(rows))};
}

}  // namespace

Traits traits(const FeedTokens&) { return {.family = 37, .name = "feed_tokens"}; }

std::vector<Factor> factors(const FeedTokens&, Types) {
  return {{.input_dim = {0, 0, -1}, .output_dim = {0}},
          {.input_dim = {-1, -1, 0}, .output_dim = {-1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const FeedTokens&, Types inputs) {
  check_arity("feed_tokens", inputs, 3);
  check_token_ids("feed_tokens C1", "ids", inputs[0]);
  check_type("feed_tokens C2", "source", inputs[1], inputs[0]);
  check_token_ids("feed_tokens C3", "drawn", inputs[2]);
  return {inputs[0]};
}

void gradient(const FeedTokens&, GradientContext&) {
  fail(ErrorKind::invalid, "feed_tokens: has no gradient");
}

Cost cost(const FeedTokens&, Types inputs, Types) { return row_cost(inputs[0]); }

Traits traits(const KeepTokens&) {
  return {.family = 38,
          .name = "keep_tokens",
          .ties = {{.input = 2, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const KeepTokens&, Types) {
  return {{.input_dim = {0, 0, -1}, .output_dim = {-1}, .how = Fold::whole},
          {.input_dim = {-1, -1, 0}, .output_dim = {0}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const KeepTokens&, Types inputs) {
  check_arity("keep_tokens", inputs, 3);
  check_token_ids("keep_tokens C1", "sampled", inputs[0]);
  check_type("keep_tokens C2", "slot", inputs[1], inputs[0]);
  check_token_ids("keep_tokens C3", "drawn", inputs[2]);
  return {inputs[2]};
}

void gradient(const KeepTokens&, GradientContext&) {
  fail(ErrorKind::invalid, "keep_tokens: has no gradient");
}

Cost cost(const KeepTokens&, Types inputs, Types) { return row_cost(inputs[0]); }

}  // namespace parhelion::ir
