#pragma once

#include "exec/cpu/kernels/attention.h"
#include "support/tensor.h"

#include <numeric>
#include <vector>

namespace parhelion::exec::cpu {

/// Packed documents with random q, k, v.
template <class T>
struct AttentionCase {
  AttentionShape shape;
  std::vector<std::int32_t> indptr = {0};
  test::Tensor<T> q;
  test::Tensor<T> k;
  test::Tensor<T> v;
};

struct AttentionHeads {
  std::int64_t query;
  std::int64_t kv;
  std::int64_t d;
};

/// Documents of the given lengths, then `padding` tokens of none.
template <class T>
AttentionCase<T> attention_case(AttentionHeads heads, const std::vector<std::int64_t>& lengths,
                                std::int64_t padding, std::uint64_t seed) {
  const std::int64_t tokens =
      std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) + padding;
  AttentionCase<T> made = {{sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16, tokens, heads.query,
                            heads.kv, heads.d, 1.0f / std::sqrt(static_cast<float>(heads.d))},
                           {0},
                           test::normal_tensor<T>(tokens * heads.query * heads.d, seed),
                           test::normal_tensor<T>(tokens * heads.kv * heads.d, seed + 1),
                           test::normal_tensor<T>(tokens * heads.kv * heads.d, seed + 2)};
  for (const std::int64_t length : lengths) {
    made.indptr.push_back(made.indptr.back() + static_cast<std::int32_t>(length));
  }
  return made;
}

template <class T>
struct AttentionResult {
  test::Tensor<T> o;
  test::Tensor<float> lse;
};

template <class T>
Attention attention_args(const AttentionCase<T>& made, AttentionResult<T>& result) {
  const std::int64_t kv_row = made.shape.kv_heads * made.shape.d;
  return {made.shape,
          made.q.data(),
          made.k.data(),
          made.v.data(),
          made.shape.query_heads * made.shape.d,
          kv_row,
          kv_row,
          made.indptr.data(),
          static_cast<std::int64_t>(made.indptr.size()) - 1,
          result.o.data(),
          result.lse.data()};
}

template <class T>
AttentionResult<T> run_attention(const AttentionCase<T>& made, int threads) {
  const std::int64_t rows = made.shape.tokens * made.shape.query_heads;
  AttentionResult<T> result = {test::Tensor<T>(rows * made.shape.d, test::stored<T>(7.0f)),
                               test::Tensor<float>(rows, 7.0f)};
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(attention_scratch_bytes(made.shape, threads)), 0xff);
  attention(attention_args(made, result), scratch.data(), threads);
  return result;
}

/// One query and head in f64: its output, and lse at the end.
template <class T>
std::vector<double> attention_reference(const AttentionCase<T>& made, std::int64_t begin,
                                        std::int64_t end, std::int64_t token, std::int64_t head) {
  const AttentionShape& shape = made.shape;
  const std::int64_t kv_head = head / (shape.query_heads / shape.kv_heads);
  const std::int64_t limit = shape.causal ? token + 1 : end;
  const std::int64_t first = shape.window > 0 ? std::max(begin, token + 1 - shape.window) : begin;
  std::vector<double> scores;
  for (std::int64_t j = first; j < limit; ++j) {
    double dot = 0;
    for (std::int64_t c = 0; c < shape.d; ++c) {
      dot += made.q.at((token * shape.query_heads + head) * shape.d + c) *
             made.k.at((j * shape.kv_heads + kv_head) * shape.d + c);
    }
    scores.push_back(dot * static_cast<double>(shape.scale));
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::vector<double> result(static_cast<std::size_t>(shape.d) + 1);
  for (std::int64_t j = first; j < limit; ++j) {
    const double p = std::exp(scores[static_cast<std::size_t>(j - first)] - max);
    sum += p;
    for (std::int64_t c = 0; c < shape.d; ++c) {
      result[static_cast<std::size_t>(c)] +=
          p * made.v.at((j * shape.kv_heads + kv_head) * shape.d + c);
    }
  }
  for (double& each : result) each /= sum;
  result.back() = max + std::log(sum);
  return result;
}

}  // namespace parhelion::exec::cpu
