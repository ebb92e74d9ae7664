#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// What requests ask to be done to logits before a token is drawn. With x a row's logits and, for
/// each edit of the row, its id, bias, scale and subtract, in this order:
///
///   1. x[id] = x[id] + bias          2. x[i] = -infinity for every i whose bit in `mask` is 0
///   3. x[id] = x[id] > 0 ? x[id] / scale : x[id] * scale          4. x[id] = x[id] - subtract
///
/// The edits of row r are those of [edit_indptr[r], edit_indptr[r + 1]), cut to [0, e). Their ids
/// are distinct; an id outside the vocabulary is passed over. Bit i % 32 of word i / 32 belongs to
/// id i. Logits without an edit and with their bit keep their bits.
///
/// Inputs   (I1) logits: f32[r, v]   (I2) edit_indptr: i32[r + 1]   (I3) edit_ids: i32[e]
///          (I4) edit_bias: f32[e]   (I5) edit_scale: f32[e], more than 0
///          (I6) edit_subtract: f32[e]   (I7) mask: i32[r, ceil(v / 32)]
/// Output   (O1) type of logits
/// Checks   (C1) logits: f32, rank 2   (C2) edit_indptr: i32[r + 1]   (C3) edit_ids: i32, rank 1
///          (C4) edit_bias, edit_scale, edit_subtract: f32[e]   (C5) mask: i32[r, ceil(v / 32)]
/// Numerics each of the four steps is rounded once
struct EditLogits {
  bool operator==(const EditLogits&) const = default;
};
Traits traits(const EditLogits& op);
std::vector<Factor> factors(const EditLogits& op, Types inputs);
std::vector<TensorType> infer(const EditLogits& op, Types inputs);
void gradient(const EditLogits& op, GradientContext& context);
Cost cost(const EditLogits& op, Types inputs, Types outputs);
constexpr auto fields(const EditLogits*) { return std::tuple(); }

/// Ids of one word of a mask, and words of a row's.
inline constexpr std::int64_t kMaskBits = 32;
constexpr std::int64_t mask_words(std::int64_t vocabulary) {
  return (vocabulary + kMaskBits - 1) / kMaskBits;
}

}  // namespace parhelion::ir
