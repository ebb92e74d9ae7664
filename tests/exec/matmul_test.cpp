#include "exec/cpu/kernels/matmul.h"

#include "base/error.h"
#include "exec/matmul_case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace parhelion::exec::cpu {
namespace {

using ir::Kind;

std::string describe(const MatmulCase& c) {
  return fmt::format("m {} n {} k {} {} x {} -> {}{}{}{}{}{} threads {} tier {}", c.m, c.n, c.k,
                     ir::name(c.a), ir::name(c.b), ir::name(c.c), c.a_transposed ? " a^T" : "",
                     c.b_transposed ? " b^T" : "", c.packed ? " packed" : "", c.bias ? " bias" : "",
                     c.accumulate ? " accumulate" : "", c.num_threads, name(c.tier));
}

// The bits of every element, as far as the contract gives them.
std::int64_t wrong_bits(MatmulRun& run) {
  const std::string_view numerics = matmul_numerics(run.test.tier, run.test.a, run.test.b);
  if (numerics == "matmul.fold256.dot_bf16") return 0;
  const bool fused = numerics == "matmul.fold256.fma";
  const auto reference = [&](std::int64_t row, std::int64_t col) {
    return numerics == "matmul.fold32.amx_bf16" ? tile_reference(run, row, col)
                                                : fold_reference(run, row, col, fused);
  };
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < run.test.m; ++row) {
    for (std::int64_t col = 0; col < run.test.n; ++col)
      wrong += run.after.at(row, col) == reference(row, col) ? 0 : 1;
  }
  return wrong;
}

std::int64_t wrong_values(MatmulRun& run) {
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < run.test.m; ++row) {
    for (std::int64_t col = 0; col < run.test.n; ++col) {
      const WideReference wide = wide_reference(run, row, col);
      wrong += std::abs(double{run.after.at(row, col)} - wide.value) <= wide.tolerance ? 0 : 1;
    }
  }
  return wrong;
}

// Bits on every tier; closeness to float64 on the widest, since equal bits are equally close.
void expect_contract(const MatmulCase& c) {
  SCOPED_TRACE(describe(c));
  MatmulRun run(c);
  EXPECT_EQ(wrong_bits(run), 0);
  if (c.tier == widest_tier()) {
    EXPECT_EQ(wrong_values(run), 0);
  }
}

// Shapes around every edge of tiles, folds, blocks and threads.
const std::vector<std::array<std::int64_t, 3>> kShapes = {
    {1, 1, 1},    {1, 33, 257},  {2, 31, 255},  {3, 7, 5},    {13, 64, 256}, {14, 32, 512},
    {15, 97, 64}, {29, 1, 300},  {6, 16, 1},    {7, 17, 2},   {5, 130, 771}, {1, 200, 1030},
    {61, 67, 71}, {2, 1700, 20}, {1100, 3, 17}, {40, 70, 520}};

void expect_contract_at_every_shape(MatmulCase c) {
  for (const Tier tier : supported_tiers()) {
    for (const auto& [m, n, k] : kShapes) {
      c.m = m, c.n = n, c.k = k, c.tier = tier;
      expect_contract(c);
    }
  }
}

TEST(Matmul, KeepsTheFoldForAForwardLinearInFloat) {
  expect_contract_at_every_shape({.bias = true});
}

TEST(Matmul, KeepsTheFoldForAPackedLinearInFloat) {
  expect_contract_at_every_shape({.packed = true, .num_threads = 5});
}

TEST(Matmul, KeepsTheFoldForAPackedLinearInBf16) {
  expect_contract_at_every_shape(
      {.a = Kind::bf16, .b = Kind::bf16, .c = Kind::bf16, .packed = true, .bias = true});
}

TEST(Matmul, KeepsTheFoldForFloatRowsOnBf16Weights) {
  expect_contract_at_every_shape({.b = Kind::bf16, .packed = true, .num_threads = 2});
  expect_contract_at_every_shape({.b = Kind::bf16, .num_threads = 2});
}

TEST(Matmul, KeepsTheFoldForBf16RowsOnFloatWeights) {
  expect_contract_at_every_shape({.a = Kind::bf16, .c = Kind::bf16, .b_transposed = false});
}

TEST(Matmul, KeepsTheFoldForAnInputGradient) {
  expect_contract_at_every_shape({.b_transposed = false, .num_threads = 2});
  expect_contract_at_every_shape(
      {.a = Kind::bf16, .b = Kind::bf16, .c = Kind::bf16, .b_transposed = false});
}

TEST(Matmul, KeepsTheFoldForAWeightGradient) {
  expect_contract_at_every_shape(
      {.a_transposed = true, .b_transposed = false, .accumulate = true, .num_threads = 3});
  expect_contract_at_every_shape({.a = Kind::bf16,
                                  .b = Kind::bf16,
                                  .a_transposed = true,
                                  .b_transposed = false,
                                  .accumulate = true});
  expect_contract_at_every_shape(
      {.a = Kind::bf16, .a_transposed = true, .b_transposed = false, .accumulate = true});
}

TEST(Matmul, GivesBiasOrZeroForAnEmptySum) {
  for (const bool packed : {false, true}) {
    expect_contract({.m = 3, .n = 40, .k = 0, .packed = packed});
    expect_contract({.m = 3, .n = 40, .k = 0, .packed = packed, .bias = true});
    expect_contract({.m = 3, .n = 40, .k = 0, .packed = packed, .accumulate = true});
  }
}

TEST(Matmul, WritesNothingForAnEmptyOutput) {
  expect_contract({.m = 0, .n = 40, .k = 30});
  expect_contract({.m = 4, .n = 0, .k = 30, .packed = true});
}

// Every element of the smaller run has the bits of the same element of the whole one.
void expect_part_of(MatmulRun& whole, const MatmulCase& smaller) {
  SCOPED_TRACE(describe(smaller));
  MatmulRun part(smaller);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < smaller.m; ++row) {
    for (std::int64_t col = 0; col < smaller.n; ++col)
      wrong += part.after.at(row, col) == whole.after.at(row, col) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

class MatmulRows : public testing::TestWithParam<Tier> {};

void expect_invariant_rows(MatmulCase c) {
  c.n = 70, c.k = 700;
  MatmulCase largest = c;
  largest.m = 100;
  largest.num_threads = 2;
  MatmulRun whole(largest);
  for (const std::int64_t m : {1, 2, 3, 7, 8, 16, 17, 64, 100}) {
    for (const int threads : {1, 2}) {
      for (const bool packed : {false, true}) {
        c.m = m, c.num_threads = threads, c.packed = packed;
        expect_part_of(whole, c);
      }
    }
  }
}

TEST_P(MatmulRows, KeepTheirBitsAtAnyRowCountInFloat) {
  expect_invariant_rows({.tier = GetParam()});
}

TEST_P(MatmulRows, KeepTheirBitsAtAnyRowCountInBf16) {
  expect_invariant_rows({.a = Kind::bf16, .b = Kind::bf16, .tier = GetParam()});
}

TEST_P(MatmulRows, KeepTheirBitsAtAnyRowCountOnBf16Weights) {
  expect_invariant_rows({.b = Kind::bf16, .tier = GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Tiers, MatmulRows, testing::ValuesIn(supported_tiers()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Matmul, KeepsTheBitsOfColumnsAtAnyColumnCount) {
  const MatmulCase largest{.m = 20, .n = 300, .k = 300, .num_threads = 2};
  MatmulRun whole(largest);
  for (const std::int64_t n : {1, 16, 31, 33, 299}) {
    MatmulCase c = largest;
    c.n = n;
    expect_part_of(whole, c);
  }
}

TEST(Matmul, NamesTheBitsOfEachTier) {
  EXPECT_EQ(matmul_numerics(Tier::portable, Kind::f32, Kind::f32), "matmul.fold256.mul_add");
  if (widest_tier() == Tier::portable) return;
  EXPECT_EQ(matmul_numerics(Tier::avx2, Kind::bf16, Kind::bf16), "matmul.fold256.fma");
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Matmul, RefusesKindsThatItCannotRead) {
  EXPECT_EQ(message_of([] { matmul_workspace_bytes({.m = 1, .n = 1, .k = 1, .a = Kind::f16}); }),
            "matmul: a is f16, expected f32 or bf16");
}

TEST(Matmul, RefusesShapesThatDisagree) {
  const MatmulArgs args{.a = {.rows = 2, .cols = 3}, .b = MatrixView{.rows = 4, .cols = 5}};
  EXPECT_EQ(message_of([&] { matmul(args); }), "matmul: b has 4 rows, expected 3");
}

TEST(Matmul, RefusesAShortWorkspace) {
  const MatmulArgs args{.a = {.rows = 2, .cols = 3}, .b = MatrixView{.rows = 3, .cols = 5}};
  EXPECT_THAT(message_of([&] { matmul(args); }),
              testing::StartsWith("matmul: workspace has 0 bytes, expected "));
}

TEST(Matmul, RefusesToAccumulateIntoBf16) {
  const MatmulArgs args{.a = {.rows = 2, .cols = 3},
                        .b = MatrixView{.rows = 3, .cols = 5},
                        .c = {.kind = Kind::bf16, .mode = OutputMode::accumulate}};
  EXPECT_EQ(message_of([&] { matmul(args); }), "matmul: a bf16 output accumulates, expected f32");
}

TEST(Pack, RefusesAShortBuffer) {
  const MatrixView b{.rows = 3, .cols = 5};
  EXPECT_THAT(message_of([&] { pack(b, Tier::portable, 1, {}); }),
              testing::StartsWith("matmul: packed buffer has 0 bytes"));
}

}  // namespace
}  // namespace parhelion::exec::cpu
