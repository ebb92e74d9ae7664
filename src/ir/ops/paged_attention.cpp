#include "ir/ops/paged_attention.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const PagedAttention&) { return {.family = 12, .name = "paged_attention"}; }

std::vector<Factor> factors(const PagedAttention&, Types) {
  return {{.input_dim = {0, -1, -1, -1, -1, -1}, .output_dim = {0}, .how = Fold::whole},
          {.input_dim = {1, 2, 2, -1, -1, -1}, .output_dim = {1}},
          {.input_dim = {2, 3, 3, -1, -1, -1}, .output_dim = {2}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const PagedAttention& op, Types inputs) {
  check_arity("paged_attention", inputs, 6);
  const TensorType& q = inputs[0];
  const TensorType& pages = inputs[1];
  check_rank("paged_attention C1", "q", q, 3);
  check_rank("paged_attention C1", "key_pages", pages, 4);
  check_activation("paged_attention C1", "q", q);
  check_kind("paged_attention C1", "key_pages", pages, q.kind());
  ensure(
      pages.shape[3] == q.shape[2] && number(pages.shape[2]) > 0 &&
          number(q.shape[1]) % number(pages.shape[2]) == 0,
      ErrorKind::invalid,
      "paged_attention C2: shape(key_pages) is {}, expected last dim {} and heads that divide {}",
      to_string(pages.shape), to_string(q.shape[2]), to_string(q.shape[1]));
  check_type("paged_attention C3", "value_pages", inputs[2], pages);
  check_rank("paged_attention C4", "page_table", inputs[3], 2);
  check_kind("paged_attention C4", "page_table", inputs[3], Kind::i32);
  const Dim rows = inputs[3].shape[0];
  Dim indptr = rows;
  indptr.base += 1;
  check_type("paged_attention C5", "query_indptr", inputs[4], TensorType(Kind::i32, {indptr}));
  check_type("paged_attention C6", "kv_length", inputs[5], TensorType(Kind::i32, {rows}));
  ensure(op.scale > 0 && op.window >= 0, ErrorKind::invalid,
         "paged_attention C7: scale {}, window {}, expected > 0 and >= 0", op.scale, op.window);
  const std::int64_t page_tokens = number(pages.shape[1]);
  ensure(page_tokens > 0 && (128 % page_tokens == 0 || page_tokens % 128 == 0), ErrorKind::invalid,
         "paged_attention C8: page_tokens is {}, expected a divisor or multiple of 128",
         page_tokens);
  return {q};
}

void gradient(const PagedAttention&, GradientContext&) {
  fail(ErrorKind::invalid, "paged_attention: has no gradient, train through attention");
}

Cost cost(const PagedAttention&, Types inputs, Types outputs) {
  const double keys = static_cast<double>(number(inputs[3].shape[1])) *
                      static_cast<double>(number(inputs[1].shape[1]));
  const double row_bytes =
      2.0 * keys * static_cast<double>(number(inputs[1].shape[2]) * number(inputs[1].shape[3])) *
      static_cast<double>(inputs[1].element.block_bytes);
  Cost result = streaming_cost(inputs.first(1), outputs, 0);
  result.bytes += row_bytes * static_cast<double>(number(inputs[3].shape[0]));
  result.flops = 4.0 * static_cast<double>(element_count(inputs[0])) * keys;
  return result;
}

}  // namespace parhelion::ir
