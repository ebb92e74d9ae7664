#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// Attention of new tokens over paged keys and values; bits are those of Attention.
///
/// Where tokens = rows, each row has at most one new token, and that of row r is token r: the rows
/// of a decode step. What a step with other rows gives in such an instance is not defined.
///
/// Inputs   (I1) q: [tokens, q_heads, d]   (I2) key_pages: [pages, page_tokens, kv_heads, d]
///          (I3) value_pages: its type   (I4) page_table: i32[rows, pages_per_row]
///          (I5) query_indptr: i32[rows + 1], prefix sums of new tokens
///          (I6) kv_length: i32[rows], tokens of the row in its pages, new ones included
/// Output   (O1) o: type of q; rows past the last query are zero
/// Checks   (C1) q: rank 3; pages: rank 4; f32 or bf16   (C2) q_heads multiple of kv_heads, same d
///          (C3) type(value_pages) = type(key_pages)   (C4) page_table: i32[rows, pages_per_row]
///          (C5) query_indptr: i32[rows + 1]   (C6) kv_length: i32[rows]
///          (C7) scale > 0, window >= 0   (C8) page_tokens divides 128 or is a multiple of it
struct PagedAttention {
  double scale = 1.0;
  std::int64_t window = 0;
  bool operator==(const PagedAttention&) const = default;
};
Traits traits(const PagedAttention& op);
std::vector<Factor> factors(const PagedAttention& op, Types inputs);
std::vector<TensorType> infer(const PagedAttention& op, Types inputs);
void gradient(const PagedAttention& op, GradientContext& context);
Cost cost(const PagedAttention& op, Types inputs, Types outputs);
constexpr auto fields(const PagedAttention*) {
  return std::tuple(field("scale", &PagedAttention::scale),
                    field("window", &PagedAttention::window));
}

}  // namespace parhelion::ir
