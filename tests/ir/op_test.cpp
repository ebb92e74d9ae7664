#include "ir/op.h"

#include "ir/op_checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <variant>

namespace parhelion::ir {
namespace {

template <std::size_t... Index>
std::vector<Op> default_ops(std::index_sequence<Index...>) {
  return {Op(std::in_place_index<Index>)...};
}

/// One op of each family, in the order of the variant.
std::vector<Op> every_op() {
  return default_ops(std::make_index_sequence<std::variant_size_v<Op>>());
}

// Ids are stored in files: a line never changes but for its version, and none is removed.
constexpr const char* kFamilies = R"(1 v1 matmul
2 v1 embedding
3 v1 embedding_grad
4 v1 rms_norm
5 v1 rms_norm_grad_input
6 v1 rms_norm_grad_weight
7 v1 add_rms_norm
8 v1 rope_table
9 v1 rope
10 v1 attention
11 v1 attention_grad
12 v1 paged_attention
13 v1 page_write
14 v1 swiglu
15 v1 swiglu_grad
16 v1 gate_up
17 v1 binary
18 v1 cast
19 v1 reduce
20 v1 broadcast
21 v1 accumulate_rows
22 v1 fill
23 v1 reshape
24 v1 linear_cross_entropy
25 v1 linear_cross_entropy_grad
26 v1 log_probability
27 v1 sample
28 v1 adam_update
29 v1 sgd_update
30 v1 accumulate
31 v1 clear
32 v1 squared_norm
33 v1 step_scale
34 v1 scale
35 v1 dropout
36 v1 linear_cross_entropy_step
37 v1 feed_tokens
38 v1 keep_tokens
39 v1 copy_pages
40 v1 edit_logits
41 v1 top_log_probabilities
)";

TEST(Op, KeepsItsFamilyIds) {
  std::string text;
  for (const Op& op : every_op()) {
    const Traits facts = traits(op);
    text += fmt::format("{} v{} {}\n", facts.family, facts.version, facts.name);
  }
  EXPECT_EQ(text, kFamilies);
}

TEST(Op, HasALegalCaseForEachFamily) {
  std::set<std::uint16_t> families;
  for (const LegalCase& each : legal_cases()) families.insert(traits(each.op).family);
  EXPECT_EQ(families.size(), std::variant_size_v<Op>);
}

TEST(Op, InfersTheOutputsOfLegalCases) {
  for (const LegalCase& each : legal_cases()) {
    SCOPED_TRACE(to_string(each.op));
    std::vector<std::string> outputs;
    for (const TensorType& type : infer(each.op, types_from_text(each.inputs)))
      outputs.push_back(to_string(type));
    EXPECT_EQ(outputs, std::vector<std::string>(each.outputs.begin(), each.outputs.end()));
  }
}

TEST(Op, TiesOperandsOfOneType) {
  for (const LegalCase& each : legal_cases()) {
    for (const Tie& tie : traits(each.op).ties) {
      EXPECT_EQ(each.inputs.at(static_cast<std::size_t>(tie.input)),
                each.outputs.at(static_cast<std::size_t>(tie.output)))
          << to_string(each.op);
    }
  }
}

TEST(Op, HasStateEffectWhereItTies) {
  for (const LegalCase& each : legal_cases()) {
    const Traits facts = traits(each.op);
    EXPECT_EQ(facts.effect == Effect::state, !facts.ties.empty()) << to_string(each.op);
  }
}

TEST(Op, PrintsItsFields) {
  EXPECT_EQ(to_string(MatMul{.transpose_b = true, .out = Kind::bf16}),
            "matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=bf16)");
  EXPECT_EQ(to_string(RmsNorm{.eps = 1e-5}), "rms_norm(eps=1e-05)");
  EXPECT_EQ(to_string(RopeTable{.positions = 8, .dim = 4, .scaling = RopeScaling::by_wavelength}),
            "rope_table(positions=8, dim=4, theta=10000, scaling=by_wavelength, factor=1, "
            "low_frequency=1, high_frequency=4, original_positions=0)");
  EXPECT_EQ(to_string(Attention{.scale = 0.125, .window = 64}),
            "attention(scale=0.125, window=64, longest=0)");
  EXPECT_EQ(to_string(Binary{BinaryFunction::multiply}), "binary(function=multiply)");
  EXPECT_EQ(to_string(Reduce{ReduceFunction::mean, 1}), "reduce(function=mean, axis=1)");
  EXPECT_EQ(to_string(Fill{.value = -1, .kind = Kind::bf16, .shape = {Symbol::rows, 2}}),
            "fill(value=-1, kind=bf16, shape=[rows, 2])");
  EXPECT_EQ(to_string(Broadcast{.shape = {3}, .mean = true}), "broadcast(shape=[3], mean=true)");
  EXPECT_EQ(to_string(Swiglu{}), "swiglu()");
}

TEST(Op, ReplacesSymbolsOfItsAttributes) {
  Capacities capacities;
  capacities[Symbol::tokens] = 6;
  EXPECT_EQ(evaluate(Op(Reshape{{Symbol::tokens, 8}}), capacities), Op(Reshape{{6, 8}}));
  EXPECT_EQ(evaluate(Op(RmsNorm{.eps = 0.5}), capacities), Op(RmsNorm{.eps = 0.5}));
}

}  // namespace
}  // namespace parhelion::ir
