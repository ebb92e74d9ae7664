#include "support/conformance/cases.h"
#include "support/conformance/data.h"

#include <limits>

namespace parhelion::test {
namespace {

/// Row r takes entry r of each list, from the front again past its end.
Wide cycled(ir::Kind kind, std::int64_t rows, const std::vector<double>& list) {
  std::vector<double> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    values.push_back(list[static_cast<std::size_t>(r) % list.size()]);
  }
  return listed(kind, values);
}

Case sample_case(Wide logits) {
  const std::int64_t rows = logits.dim(0);
  Wide offset = zeros(ir::TensorType(ir::Kind::u64, {rows}));
  for (std::int64_t r = 0; r < rows; ++r) offset[r] = static_cast<double>(3 * r);
  Case result{.name = "sample " + in_words(logits),
              .op = ir::Sample{},
              .inputs = {std::move(logits), cycled(kF32, rows, {1, 0, 0.7, 1.5, 1}),
                         cycled(ir::Kind::i32, rows, {0, 0, 1, 5, 0, 40, 3}),
                         cycled(kF32, rows, {1, 1, 1, 0.9, 0.5, 0.8, 0, 1}),
                         cycled(kF32, rows, {0, 0, 0.1, 0}),
                         cycled(ir::Kind::u64, rows, {17, 99, 123456789012345}), offset}};
  result.terms = result.inputs[0].dim(1);
  return result;
}

}  // namespace

Cases sample_cases() {
  Cases result;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {5, 7}, {40, 300}, {20, 5000}, {0, 3}}) {
    result.push_back(sample_case(normals(kF32, {rows, columns}, 1, 2)));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  Wide masked = normals(kF32, {4, 6}, 2);
  for (std::int64_t c = 0; c < 6; ++c) masked[c] = -infinity;
  masked[6 + 2] = masked[6 + 4] = masked[12] = -infinity;
  result.push_back(sample_case(masked));
  result.back().name += " masked";
  return result;
}

}  // namespace parhelion::test
