#include "ir/op_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parhelion::ir {
namespace {

/// The dims of one factor on some operands, each checked against the operand's rank.
std::vector<Dim> factor_dims(const std::vector<std::int8_t>& dims,
                             const std::vector<TensorType>& types) {
  EXPECT_EQ(dims.size(), types.size());
  std::vector<Dim> result;
  for (std::size_t i = 0; i < std::min(dims.size(), types.size()); ++i) {
    EXPECT_GE(dims[i], -1);
    EXPECT_LT(dims[i], static_cast<std::int64_t>(types[i].rank()));
    if (dims[i] >= 0 && dims[i] < static_cast<std::int64_t>(types[i].rank()))
      result.push_back(types[i].shape[static_cast<std::size_t>(dims[i])]);
  }
  return result;
}

/// Grouped heads: the heads of a query are a multiple of those of its keys.
bool divides(const Dim& a, const Dim& b) {
  if (a == b) return true;
  return a.is_number() && b.is_number() &&
         (number(a) % number(b) == 0 || number(b) % number(a) == 0);
}

TEST(Factors, NameDimsThatOperandsHave) {
  for (const LegalCase& each : legal_cases()) {
    SCOPED_TRACE(to_string(each.op));
    const std::vector<TensorType> inputs = types_from_text(each.inputs);
    const std::vector<TensorType> outputs = types_from_text(each.outputs);
    for (const Factor& factor : factors(each.op, inputs)) {
      factor_dims(factor.input_dim, inputs);
      factor_dims(factor.output_dim, outputs);
      EXPECT_GE(factor.fold_block, 0);
    }
  }
}

TEST(Factors, RunOverEqualExtentsOrGroups) {
  for (const LegalCase& each : legal_cases()) {
    SCOPED_TRACE(to_string(each.op));
    const std::vector<TensorType> inputs = types_from_text(each.inputs);
    for (const Factor& factor : factors(each.op, inputs)) {
      std::vector<Dim> dims = factor_dims(factor.input_dim, inputs);
      for (const Dim& dim : factor_dims(factor.output_dim, types_from_text(each.outputs)))
        dims.push_back(dim);
      for (const Dim& dim : dims)
        EXPECT_TRUE(divides(dim, dims.front())) << to_string(dim) << " " << to_string(dims.front());
    }
  }
}

TEST(Factors, CoverEachOutputDimOnce) {
  for (const LegalCase& each : legal_cases()) {
    const std::vector<Factor> all = factors(each.op, types_from_text(each.inputs));
    const std::vector<TensorType> outputs = types_from_text(each.outputs);
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      for (std::size_t dim = 0; dim < outputs[output].rank(); ++dim) {
        const auto count = std::ranges::count_if(all, [&](const Factor& factor) {
          return factor.output_dim[output] == static_cast<std::int8_t>(dim);
        });
        EXPECT_EQ(count, 1) << to_string(each.op) << " output " << output << " dim " << dim;
      }
    }
  }
}

TEST(Factors, NameAnInputDimOnceAtMost) {
  for (const LegalCase& each : legal_cases()) {
    const std::vector<TensorType> inputs = types_from_text(each.inputs);
    const std::vector<Factor> all = factors(each.op, inputs);
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      for (std::size_t dim = 0; dim < inputs[input].rank(); ++dim) {
        const auto count = std::ranges::count_if(all, [&](const Factor& factor) {
          return factor.input_dim[input] == static_cast<std::int8_t>(dim);
        });
        EXPECT_LE(count, 1) << to_string(each.op) << " input " << input << " dim " << dim;
      }
    }
  }
}

TEST(Factors, OfAnAccumulatedMatMulCoverItsAccumulator) {
  const MatMul op{.transpose_a = true, .accumulate = true};
  const std::vector<TensorType> inputs = types_from_text({"f32[5, 3]", "f32[5, 4]", "f32[3, 4]"});
  const std::vector<Factor> all = factors(op, inputs);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].input_dim, (std::vector<std::int8_t>{1, -1, 0}));
  EXPECT_EQ(all[1].input_dim, (std::vector<std::int8_t>{-1, 1, 1}));
  EXPECT_EQ(all[2].input_dim, (std::vector<std::int8_t>{0, 0, -1}));
  EXPECT_EQ(all[2].how, Fold::sum);
  EXPECT_EQ(all[2].fold_block, 256);
}

}  // namespace
}  // namespace parhelion::ir
