#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// pages[destination[l]] = pages[source[l]], every byte of a page, where source[l] is in [0, pages)
/// and destination[l] in [1, pages): page 0 is the null page and is never written. Other lanes keep
/// every byte. No page is the destination of two lanes, or of one and the source of another.
///
/// Inputs   (I1) source: i32[lanes], -1 = none   (I2) destination: i32[lanes], 0 = none
///          (I3) pages: [pages, page_tokens, ...] of any kind, tied to the output
/// Output   (O1) type of pages
/// Checks   (C1) source: i32, rank 1   (C2) destination: type of source   (C3) pages: rank 2 or
///          more
struct CopyPages {
  bool operator==(const CopyPages&) const = default;
};
Traits traits(const CopyPages& op);
std::vector<Factor> factors(const CopyPages& op, Types inputs);
std::vector<TensorType> infer(const CopyPages& op, Types inputs);
void gradient(const CopyPages& op, GradientContext& context);
Cost cost(const CopyPages& op, Types inputs, Types outputs);
constexpr auto fields(const CopyPages*) { return std::tuple(); }

/// Bytes of one page of a type whose dims are numbers.
std::int64_t page_bytes(TensorType pages);

}  // namespace parhelion::ir
