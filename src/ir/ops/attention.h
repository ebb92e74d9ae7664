#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// Causal attention over packed documents with grouped heads: token i sees the tokens j <= i of its
/// own document, with `window` > 0 only j > i - window. Query head h reads key head h / (q_heads /
/// kv_heads). `longest` > 0 promises that no document has more tokens; it changes no result.
///
/// Inputs   (I1) q: [t, q_heads, d]   (I2) k: [t, kv_heads, d]   (I3) v: type of k
///          (I4) document_indptr: i32[documents + 1], prefix sums of lengths; later tokens are
///          padding
/// Outputs  (O1) o: type of q   (O2) lse: f32[t, q_heads], log of the sum of exponentials of scores
/// Checks   (C1) q, k: rank 3, f32 or bf16   (C2) q_heads multiple of kv_heads, same t and d
///          (C3) type(v) = type(k)
///          (C4) document_indptr: i32, rank 1   (C5) scale > 0, window >= 0, longest >= 0
/// Numerics keys in blocks of 128 from the document's position 0, each alone, merged ascending
/// Gradient AttentionGrad, from o and lse; scores are recomputed
/// Source   Dao et al. 2022, arXiv:2205.14135 (blocks and merging)
struct Attention {
  double scale = 1.0;
  std::int64_t window = 0;
  std::int64_t longest = 0;
  bool operator==(const Attention&) const = default;
};
Traits traits(const Attention& op);
std::vector<Factor> factors(const Attention& op, Types inputs);
std::vector<TensorType> infer(const Attention& op, Types inputs);
void gradient(const Attention& op, GradientContext& context);
Cost cost(const Attention& op, Types inputs, Types outputs);
constexpr auto fields(const Attention*) {
  return std::tuple(field("scale", &Attention::scale), field("window", &Attention::window),
                    field("longest", &Attention::longest));
}

/// The gradient of Attention.
///
/// Inputs   (I1) q   (I2) k   (I3) v   (I4) o   (I5) lse   (I6) do   (I7) document_indptr
/// Outputs  (O1) dq   (O2) dk   (O3) dv, of the types of q, k, v
/// Checks   those of Attention, (C6) type(o) = type(do) = type(q)   (C7) lse: f32[t, q_heads]
struct AttentionGrad {
  double scale = 1.0;
  std::int64_t window = 0;
  std::int64_t longest = 0;
  bool operator==(const AttentionGrad&) const = default;
};
Traits traits(const AttentionGrad& op);
std::vector<Factor> factors(const AttentionGrad& op, Types inputs);
std::vector<TensorType> infer(const AttentionGrad& op, Types inputs);
void gradient(const AttentionGrad& op, GradientContext& context);
Cost cost(const AttentionGrad& op, Types inputs, Types outputs);
constexpr auto fields(const AttentionGrad*) {
  return std::tuple(field("scale", &AttentionGrad::scale), field("window", &AttentionGrad::window),
                    field("longest", &AttentionGrad::longest));
}

}  // namespace parhelion::ir
