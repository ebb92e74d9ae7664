#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/fusion.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "support/conformance/data.h"
#include "support/conformance/run.h"
#include "support/conformance/tolerance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace parhelion::exec {
namespace {

using ir::ValueId;
using Dims = std::vector<std::int64_t>;

/// A program with the content of its buffers. Operands are copies of inputs, so that the memory
/// plan gives their place away after their last reader.
class FusionProgram {
 public:
  FusionProgram() : builder(program) { program.name = "fusion"; }

  ValueId input(const test::Wide& content) {
    const std::string name = fmt::format("in{}", buffers.size());
    buffers[name] = content;
    return builder.input(name, content.type);
  }
  ValueId operand(const test::Wide& content) { return one(ir::Scale{1.0}, {input(content)}); }
  ValueId operand(ir::Kind kind, const Dims& dims) {
    return operand(test::normals(kind, dims, buffers.size() + 1));
  }
  ValueId weight(ir::Kind kind, std::int64_t columns) {
    return input(test::normals(kind, {columns}, buffers.size() + 1));
  }
  ValueId parameter(const test::Wide& content) {
    const std::string name = fmt::format("parameter{}", buffers.size());
    buffers[name] = content;
    return builder.parameter(name, content.type);
  }
  ValueId state(const test::Wide& content) {
    const std::string name = fmt::format("state{}", buffers.size());
    buffers[name] = content;
    return builder.state(name, content.type);
  }
  ValueId one(const ir::Op& op, const std::vector<ValueId>& inputs) {
    return builder.one(op, inputs);
  }
  void output(ValueId value) { builder.output(fmt::format("out{}", outputs_++), value); }

  ir::Program program;
  ir::Builder builder;
  test::NamedWide buffers;
  Numerics numerics = Numerics::exact;
  Weights weights = Weights::trained;

 private:
  int outputs_ = 0;
};

struct FusionRun {
  test::NamedWide results;
  std::vector<StepReport> steps;
};

FusionRun run_fusions(const FusionProgram& made, Fusions fusions) {
  const auto executor = make_cuda_executor(
      {.numerics = made.numerics, .checks = MemoryChecks::on, .fusions = fusions});
  const auto plan = executor->plan(ir::lower(made.program, {}), made.weights);
  FusionRun run{.results = test::run_instance(*executor, *plan, made.buffers), .steps = {}};
  run.steps.assign(plan->steps().begin(), plan->steps().end());
  return run;
}

std::ptrdiff_t ops_run_by(const FusionRun& run, std::string_view kernel) {
  return std::ranges::count(run.steps, kernel, &StepReport::kernel);
}

/// Expects that `fused_ops` ops run by the fusion and that every result and numerics stay.
void expect_fused(const FusionProgram& made, std::string_view fusion, std::ptrdiff_t fused_ops) {
  const FusionRun alone = run_fusions(made, Fusions::off);
  const FusionRun fused = run_fusions(made, Fusions::on);
  EXPECT_EQ(ops_run_by(alone, fusion), 0);
  EXPECT_EQ(ops_run_by(fused, fusion), fused_ops);
  ASSERT_EQ(fused.steps.size(), alone.steps.size());
  for (std::size_t i = 0; i < alone.steps.size(); ++i)
    EXPECT_EQ(fused.steps[i].numerics, alone.steps[i].numerics) << "op " << i + 1;
  for (const auto& [name, expected] : alone.results)
    EXPECT_TRUE(test::same_bits(fused.results.at(name), expected)) << name;
}

enum class SumOrder { rest_first, rest_last, none };

struct NormSizes {
  ir::Kind kind;
  std::int64_t rows, columns;
};

/// Both gradients of a norm, with the residual's gradient. Gives the gradient by the input.
ValueId add_norm_gradients(FusionProgram& made, const NormSizes& sizes, SumOrder order) {
  const Dims dims{sizes.rows, sizes.columns};
  const ValueId rest = made.operand(sizes.kind, dims);
  const ValueId x = made.operand(sizes.kind, dims), dy = made.operand(sizes.kind, dims);
  const ValueId w = made.weight(sizes.kind, sizes.columns);
  const ValueId acc = made.state(test::normals(test::kF32, {sizes.columns}, 99));
  const ValueId dx = made.one(ir::RmsNormGradInput{1e-3}, {x, w, dy});
  ValueId sum = dx;
  if (order == SumOrder::rest_first) sum = made.one(ir::Binary{}, {rest, dx});
  if (order == SumOrder::rest_last) sum = made.one(ir::Binary{}, {dx, rest});
  made.one(ir::RmsNormGradWeight{1e-3}, {x, dy, acc});
  made.output(sum);
  return dx;
}

TEST(CudaFusions, GiveGradientsOfANormTheirBits) {
  for (const NormSizes& sizes :
       {NormSizes{test::kBf16, 1, 8}, NormSizes{test::kBf16, 37, 72},
        NormSizes{test::kBf16, 700, 1024}, NormSizes{test::kBf16, 65, 1160},
        NormSizes{test::kBf16, 33, 2048}, NormSizes{test::kBf16, 40, 4096},
        NormSizes{test::kBf16, 3, 8192}, NormSizes{test::kF32, 300, 512},
        NormSizes{test::kF32, 17, 64}, NormSizes{test::kF32, 5, 4096}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", ir::name(sizes.kind), sizes.rows, sizes.columns));
    for (const SumOrder order : {SumOrder::rest_first, SumOrder::rest_last, SumOrder::none}) {
      FusionProgram made;
      add_norm_gradients(made, sizes, order);
      expect_fused(made, "norm_gradients", order == SumOrder::none ? 2 : 3);
    }
  }
}

TEST(CudaFusions, LeaveRowsThatAreNoWholePacksToSingleOps) {
  FusionProgram made;
  add_norm_gradients(made, {test::kBf16, 19, 100}, SumOrder::rest_first);
  expect_fused(made, "norm_gradients", 0);
}

TEST(CudaFusions, KeepAGradientThatOthersReadToo) {
  FusionProgram made;
  const ValueId dx = add_norm_gradients(made, {test::kBf16, 50, 256}, SumOrder::rest_first);
  made.output(made.one(ir::Scale{2.0}, {dx}));
  expect_fused(made, "norm_gradients", 0);
}

struct HeadSizes {
  ir::Kind kind;
  std::int64_t tokens, heads, d;
};

std::string in_words(const HeadSizes& sizes) {
  return fmt::format("{} {} {} {}", ir::name(sizes.kind), sizes.tokens, sizes.heads, sizes.d);
}

constexpr std::int64_t kFusionPositions = 50;

/// Positions, some of them outside the table, and a table.
std::vector<ValueId> add_angles(FusionProgram& made, const HeadSizes& sizes) {
  return {made.input(test::indices(sizes.tokens, -1, kFusionPositions + 2, 5)),
          made.input(test::normals(test::kF32, {kFusionPositions, sizes.d}, 6))};
}

/// The gradients of a norm of heads and of the rope after it. Gives what the rope hands on.
ValueId add_turned_gradients(FusionProgram& made, const HeadSizes& sizes, bool inverse) {
  const Dims dims{sizes.tokens, sizes.heads, sizes.d};
  const std::vector<ValueId> angles = add_angles(made, sizes);
  const ValueId w = made.weight(sizes.kind, sizes.d);
  const ValueId acc = made.state(test::normals(test::kF32, {sizes.d}, 98));
  const ValueId x = made.operand(sizes.kind, dims), dz = made.operand(sizes.kind, dims);
  const ValueId dy = made.one(ir::Rope{inverse}, {dz, angles[0], angles[1]});
  const ValueId dx = made.one(ir::RmsNormGradInput{1e-5}, {x, w, dy});
  made.one(ir::RmsNormGradWeight{1e-5}, {x, dy, acc});
  made.output(made.one(ir::Scale{3.0}, {dx}));
  return dy;
}

TEST(CudaFusions, GiveGradientsOfTurnedHeadsTheirBits) {
  for (const HeadSizes& sizes :
       {HeadSizes{test::kBf16, 1, 1, 128}, HeadSizes{test::kBf16, 131, 16, 128},
        HeadSizes{test::kBf16, 77, 3, 64}, HeadSizes{test::kBf16, 20, 5, 80},
        HeadSizes{test::kBf16, 9, 2, 256}, HeadSizes{test::kF32, 60, 4, 128},
        HeadSizes{test::kF32, 7, 3, 24}}) {
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(in_words(sizes));
      FusionProgram made;
      add_turned_gradients(made, sizes, inverse);
      expect_fused(made, "norm_gradients", 3);
    }
  }
}

TEST(CudaFusions, KeepATurnedGradientThatOthersReadToo) {
  FusionProgram made;
  const ValueId dy = add_turned_gradients(made, {test::kBf16, 20, 4, 128}, true);
  made.output(made.one(ir::Scale{2.0}, {dy}));
  expect_fused(made, "norm_gradients", 2);  // without the rope
}

TEST(CudaFusions, LeaveTheRopeOfHeadsWhoseHalvesAreNoWholePacksAlone) {
  FusionProgram made;
  add_turned_gradients(made, {test::kBf16, 20, 4, 72}, true);
  expect_fused(made, "norm_gradients", 2);  // without the rope
}

/// A tensor of heads, normed and turned.
ValueId add_head_steps(FusionProgram& made, const HeadSizes& sizes, ValueId x,
                       const std::vector<ValueId>& angles) {
  const ValueId y = made.one(ir::RmsNorm{1e-4}, {x, made.weight(sizes.kind, sizes.d)});
  return made.one(ir::Rope{}, {y, angles[0], angles[1]});
}

constexpr std::int64_t kFusionPage = 4;

/// Locations of tokens in pages, last ones first; the first token has none.
test::Wide add_locations(std::int64_t tokens) {
  test::Wide result = test::filled(ir::Kind::i64, {tokens}, -1);
  for (std::int64_t t = 1; t < tokens; ++t) result[t] = static_cast<double>(tokens - t);
  return result;
}

TEST(CudaFusions, GiveQueriesKeysAndPagesTheirBits) {
  for (const HeadSizes& sizes :
       {HeadSizes{test::kBf16, 1, 16, 128}, HeadSizes{test::kBf16, 2100, 16, 128},
        HeadSizes{test::kBf16, 33, 6, 64}, HeadSizes{test::kBf16, 5, 3, 208},
        HeadSizes{test::kF32, 50, 4, 128}, HeadSizes{test::kF32, 13, 2, 8}}) {
    SCOPED_TRACE(in_words(sizes));
    FusionProgram made;
    const Dims shared{sizes.tokens, (sizes.heads + 1) / 2, sizes.d};
    const std::vector<ValueId> angles = add_angles(made, sizes);
    const ValueId location = made.input(add_locations(sizes.tokens));
    const Dims pages{sizes.tokens / kFusionPage + 1, kFusionPage, shared[1], sizes.d};
    const ValueId keys = made.state(test::normals(sizes.kind, pages, 11));
    const ValueId values = made.state(test::normals(sizes.kind, pages, 12));
    const ValueId q = made.operand(sizes.kind, {sizes.tokens, sizes.heads, sizes.d});
    const ValueId k = made.operand(sizes.kind, shared), v = made.operand(sizes.kind, shared);
    const ValueId turned_q = add_head_steps(made, sizes, q, angles);
    const ValueId turned_k = add_head_steps(made, sizes, k, angles);
    made.one(ir::PageWrite{}, {turned_k, location, keys});
    made.one(ir::PageWrite{}, {v, location, values});
    made.output(made.one(ir::Scale{3.0}, {turned_q}));
    expect_fused(made, "head_rows", 6);
  }
}

TEST(CudaFusions, KeepAKeyThatOthersReadToo) {
  const HeadSizes sizes{test::kBf16, 9, 2, 64};
  FusionProgram made;
  const std::vector<ValueId> angles = add_angles(made, sizes);
  const ValueId location = made.input(add_locations(9));
  const ValueId keys = made.state(test::normals(test::kBf16, {3, kFusionPage, 2, 64}, 11));
  const ValueId k = made.operand(test::kBf16, {9, 2, 64});
  const ValueId turned = add_head_steps(made, sizes, k, angles);
  made.one(ir::PageWrite{}, {turned, location, keys});
  made.output(made.one(ir::Scale{3.0}, {turned}));
  expect_fused(made, "head_rows", 2);  // norm and rope
}

TEST(CudaFusions, RunPageWritesOfOneStateOneAfterTheOther) {
  FusionProgram made;
  const ValueId location = made.input(add_locations(9));
  const ValueId pages = made.state(test::normals(test::kBf16, {3, kFusionPage, 2, 64}, 11));
  const ValueId first = made.operand(test::kBf16, {9, 2, 64});
  const ValueId second = made.operand(test::kBf16, {9, 2, 64});
  const ValueId once = made.one(ir::PageWrite{}, {first, location, pages});
  made.one(ir::PageWrite{}, {second, location, once});
  expect_fused(made, "head_rows", 0);
}

struct ProductSizes {
  ir::Kind kind;
  std::int64_t m, n, k;
};

/// The sum of a gradient and a product, in a phase.
void add_product_sum(FusionProgram& made, const ProductSizes& sizes, ir::Phase phase) {
  made.builder.set_phase(phase);
  const ValueId rest = made.operand(sizes.kind, {sizes.m, sizes.n});
  const ValueId a = made.operand(sizes.kind, {sizes.m, sizes.k});
  const ValueId b =
      made.operand(test::normals(sizes.kind, {sizes.k, sizes.n}, 7, test::unit_scale(sizes.k)));
  const ValueId y = made.one(ir::MatMul{.out = sizes.kind}, {a, b});
  made.output(made.one(ir::Binary{}, {rest, y}));
}

TEST(CudaFusions, AddAProductToAGradientWithinTheTolerance) {
  for (const ProductSizes& sizes :
       {ProductSizes{test::kBf16, 300, 256, 512}, ProductSizes{test::kBf16, 64, 72, 1024},
        ProductSizes{test::kF32, 65, 48, 80}}) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", ir::name(sizes.kind), sizes.m, sizes.n, sizes.k));
    FusionProgram made;
    add_product_sum(made, sizes, ir::Phase::input_grad);
    const FusionRun alone = run_fusions(made, Fusions::off);
    const FusionRun fused = run_fusions(made, Fusions::on);
    EXPECT_EQ(ops_run_by(fused, "product_add"), 2);
    EXPECT_NE(fused.steps.back().numerics, alone.steps.back().numerics);
    const double bound = 2 * test::tolerance(sizes.kind, sizes.k);
    for (const auto& [name, expected] : alone.results)
      EXPECT_TRUE(test::is_near(fused.results.at(name), expected, bound)) << name;
  }
}

TEST(CudaFusions, RoundAProductOfTheForwardPassBeforeItIsAdded) {
  FusionProgram made;
  add_product_sum(made, {test::kBf16, 64, 64, 128}, ir::Phase::forward);
  expect_fused(made, "product_add", 0);
}

/// Products of one row, whose weights have these numbers of rows.
void add_row_products(FusionProgram& made, std::int64_t k, const Dims& rows) {
  made.numerics = Numerics::fast;
  made.weights = Weights::frozen;
  const ValueId x = made.operand(test::kBf16, {1, k});
  for (const std::int64_t n : rows) {
    const ValueId weight = made.parameter(
        test::normals(test::kBf16, {n, k}, made.buffers.size(), test::unit_scale(k)));
    const ir::MatMul op{.transpose_b = true, .out = test::kBf16};
    made.output(made.one(op, {x, weight}));
  }
}

TEST(CudaFusions, GiveProductsOfOneRowTheirBits) {
  for (const std::int64_t k : {8, 1024, 3072, 6144}) {
    FusionProgram made;
    add_row_products(made, k, {2048, 3, 1021});
    expect_fused(made, "gemvs", 3);
  }
  FusionProgram many;
  add_row_products(many, 256, {1, 2, 3, 4, 5, 6});
  expect_fused(many, "gemvs", 6);
}

/// The gradients of a norm as a fusion of ops, with a memory plan of our making.
class FusionMemory : public testing::Test {
 protected:
  FusionMemory() {
    add_norm_gradients(made_, {test::kBf16, 8, 64}, SumOrder::rest_first);
    instance_ = ir::lower(made_.program, {});
    memory_ = ir::plan_memory(instance_);
    while (!std::holds_alternative<ir::RmsNormGradInput>(instance_.ops[first_].op)) ++first_;
  }

  ir::Range& range_of(ValueId value) { return memory_.of_value[value.index - 1]; }
  ir::Range& range_of_input(std::size_t input) {
    return range_of(instance_.ops[first_].inputs[input].value);
  }
  ir::Range& range_of_sum() { return range_of(instance_.ops[first_ + 1].outputs[0]); }
  bool fits() const {
    const cuda::Uses uses(instance_);
    const cuda::Fusion& fusion = cuda::all_fusions().front();
    EXPECT_EQ(fusion.match(uses, first_, 3), 3u);
    return cuda::fits_memory(fusion, uses, memory_, first_, 3);
  }

  FusionProgram made_;
  ir::Program instance_;
  ir::MemoryPlan memory_;
  std::size_t first_ = 0;
};

TEST_F(FusionMemory, MayHoldAnOutputJustWhereARowLay) {
  EXPECT_TRUE(fits());
  range_of_sum() = range_of_input(0);
  EXPECT_TRUE(fits());
  range_of_sum() = range_of_input(2);
  EXPECT_TRUE(fits());
}

TEST_F(FusionMemory, MayNotHoldAnOutputOverPartOfAnInput) {
  range_of_sum() = range_of_input(2);
  range_of_sum().offset += ir::kArenaAlignment;
  EXPECT_FALSE(fits());
}

TEST_F(FusionMemory, MayNotHoldAnOutputWhereAWeightLies) {
  range_of_input(1) = range_of_sum();
  EXPECT_FALSE(fits());
}

TEST_F(FusionMemory, MayNotHoldTwoOutputsInOnePlace) {
  range_of(instance_.ops[first_ + 2].outputs[0]) = range_of_sum();
  EXPECT_FALSE(fits());
}

}  // namespace
}  // namespace parhelion::exec
