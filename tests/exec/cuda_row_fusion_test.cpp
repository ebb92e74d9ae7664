#include "exec/cuda/choose.h"
#include "exec/cuda/fusion.h"

#include "cuda_fusion_program.h"

namespace parhelion::exec {
namespace {

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

struct RowSizes {
  std::int64_t rows = 1, k = 1024;
  bool adds = true;
  ir::Kind kind = test::kBf16;
};

std::string in_words(const RowSizes& sizes) {
  return fmt::format("{} {} {} {}", ir::name(sizes.kind), sizes.rows, sizes.k, sizes.adds);
}

ValueId row_weight(FusionProgram& made, const RowSizes& sizes, std::int64_t n) {
  return made.parameter(
      test::normals(sizes.kind, {n, sizes.k}, made.buffers.size(), test::unit_scale(sizes.k)));
}

/// A norm, of a sum whose value is a result too if it adds. Gives what it hands on.
ValueId add_row_norm(FusionProgram& made, const RowSizes& sizes) {
  made.numerics = Numerics::fast;
  made.weights = Weights::frozen;
  const ValueId x = made.operand(sizes.kind, {sizes.rows, sizes.k});
  const ValueId r = made.operand(sizes.kind, {sizes.rows, sizes.k});
  const ValueId w = made.parameter(test::normals(sizes.kind, {sizes.k}, made.buffers.size()));
  if (!sizes.adds) return made.one(ir::RmsNorm{1e-3}, {x, w});
  const std::vector<ValueId> both = made.builder.add(ir::AddRmsNorm{1e-3}, {x, r, w});
  made.output(both[0]);
  return both[1];
}

/// A norm and products of what it hands on, whose weights have these numbers of rows. Products are
/// activations, for which the memory plan may use the place of what the norm read.
ValueId add_normed_products(FusionProgram& made, const RowSizes& sizes, const Dims& rows) {
  const ValueId y = add_row_norm(made, sizes);
  std::vector<ValueId> products;
  for (const std::int64_t n : rows) {
    const ir::MatMul op{.transpose_b = true, .out = sizes.kind};
    products.push_back(made.one(op, {y, row_weight(made, sizes, n)}));
  }
  for (const ValueId product : products) made.output(made.one(ir::Scale{2.0}, {product}));
  return y;
}

void add_normed_gate_up(FusionProgram& made, const RowSizes& sizes, std::int64_t n) {
  const ValueId y = add_row_norm(made, sizes);
  const ValueId gate = row_weight(made, sizes, n), up = row_weight(made, sizes, n);
  made.output(made.one(ir::Scale{2.0}, {made.one(ir::GateUp{}, {y, gate, up})}));
}

TEST(CudaFusions, GiveANormAndItsProductsTheirBits) {
  for (const std::int64_t k : {8, 72, 136, 576, 1024, 1032, 2048, 2056, 4096}) {
    for (const bool adds : {true, false}) {
      const RowSizes sizes{.k = k, .adds = adds};
      SCOPED_TRACE(in_words(sizes));
      FusionProgram three, one, gate_up;
      add_normed_products(three, sizes, {1024, 3, 512});
      expect_fused(three, "normed_gemvs", 4);
      add_normed_products(one, sizes, {77});
      expect_fused(one, "normed_gemvs", 2);
      add_normed_gate_up(gate_up, sizes, 515);
      expect_fused(gate_up, "normed_gemvs", 2);
    }
  }
}

TEST(CudaFusions, StoreANormedRowThatOthersReadToo) {
  FusionProgram many;
  add_normed_products(many, {}, {1, 2, 3, 4, 5});
  expect_fused(many, "normed_gemvs", 5);  // the norm and four products
  FusionProgram scaled;
  scaled.output(scaled.one(ir::Scale{3.0}, {add_normed_products(scaled, {}, {64, 32})}));
  expect_fused(scaled, "normed_gemvs", 3);
}

TEST(CudaFusions, LeaveNormsOfOtherRowsToSingleOps) {
  for (const RowSizes& sizes :
       {RowSizes{.rows = 2}, RowSizes{.k = 4104}, RowSizes{.kind = test::kF32}}) {
    SCOPED_TRACE(in_words(sizes));
    FusionProgram products, gate_up;
    add_normed_products(products, sizes, {64, 32});
    expect_fused(products, "normed_gemvs", 0);
    add_normed_gate_up(gate_up, sizes, 64);
    expect_fused(gate_up, "normed_gemvs", 0);
  }
}

TEST(CudaFusions, HoldWhatANormReadsWhileItsProductsAreWritten) {
  FusionProgram made;
  add_normed_products(made, {}, {1024, 1024, 1024});
  const ir::Program instance = ir::lower(made.program, {});
  std::size_t first = 0;
  while (!std::holds_alternative<ir::AddRmsNorm>(instance.ops[first].op)) ++first;
  const cuda::Uses uses(instance);
  const auto fusions = cuda::all_fusions();
  const auto fusion = std::ranges::find(fusions, "normed_gemvs", &cuda::Fusion::name);
  ASSERT_NE(fusion, fusions.end());
  ASSERT_EQ(fusion->match(uses, first, 9), 4u);
  cuda::Device device;
  device.numerics = made.numerics;
  const auto holds = cuda::inputs_to_hold(instance, made.weights, device);
  EXPECT_FALSE(cuda::fits_memory(*fusion, uses, ir::plan_memory(instance), first, 4));
  EXPECT_TRUE(cuda::fits_memory(*fusion, uses, ir::plan_memory(instance, holds), first, 4));
}

}  // namespace
}  // namespace parhelion::exec
