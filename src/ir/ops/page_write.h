#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// pages[location[t]] = x[t], location = page * page_tokens + offset; -1 keeps every byte.
///
/// Inputs   (I1) x: [t, kv_heads, d]   (I2) location: i64[t]
///          (I3) pages: [pages, page_tokens, kv_heads, d], tied to the output
/// Output   (O1) type of pages
/// Checks   (C1) x: rank 3   (C2) location: i64[t]
///          (C3) pages: rank 4, dtype and last two dims of x
struct PageWrite {
  bool operator==(const PageWrite&) const = default;
};
Traits traits(const PageWrite& op);
std::vector<Factor> factors(const PageWrite& op, Types inputs);
std::vector<TensorType> infer(const PageWrite& op, Types inputs);
void gradient(const PageWrite& op, GradientContext& context);
Cost cost(const PageWrite& op, Types inputs, Types outputs);
constexpr auto fields(const PageWrite*) { return std::tuple(); }

}  // namespace parhelion::ir
