#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// y[t] = drawn[source[t]] where source[t] is in [0, slots), else ids[t]: a token that an earlier
/// run drew, without a way over the host. Where nothing could be drawn (a negative number in
/// `drawn`), y[t] = 0, so that what follows has an id in range.
///
/// Inputs   (I1) ids: i32[t]   (I2) source: i32[t], -1 = take the id   (I3) drawn: i32[slots]
/// Output   (O1) i32[t]
/// Checks   (C1) ids: i32, rank 1   (C2) source: type of ids   (C3) drawn: i32, rank 1
struct FeedTokens {
  bool operator==(const FeedTokens&) const = default;
};
Traits traits(const FeedTokens& op);
std::vector<Factor> factors(const FeedTokens& op, Types inputs);
std::vector<TensorType> infer(const FeedTokens& op, Types inputs);
void gradient(const FeedTokens& op, GradientContext& context);
Cost cost(const FeedTokens& op, Types inputs, Types outputs);
constexpr auto fields(const FeedTokens*) { return std::tuple(); }

/// drawn[slot[r]] = sampled[r] where slot[r] is in [0, slots); other rows keep every byte. No slot
/// stands in two rows.
///
/// Inputs   (I1) sampled: i32[r]   (I2) slot: i32[r], -1 = none   (I3) drawn: i32[slots], tied to
///          the output
/// Output   (O1) type of drawn
/// Checks   (C1) sampled: i32, rank 1   (C2) slot: type of sampled   (C3) drawn: i32, rank 1
struct KeepTokens {
  bool operator==(const KeepTokens&) const = default;
};
Traits traits(const KeepTokens& op);
std::vector<Factor> factors(const KeepTokens& op, Types inputs);
std::vector<TensorType> infer(const KeepTokens& op, Types inputs);
void gradient(const KeepTokens& op, GradientContext& context);
Cost cost(const KeepTokens& op, Types inputs, Types outputs);
constexpr auto fields(const KeepTokens*) { return std::tuple(); }

}  // namespace parhelion::ir
