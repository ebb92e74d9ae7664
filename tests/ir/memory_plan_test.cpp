#include "ir/memory_plan.h"

#include "ir/allocate_offsets.h"
#include "ir/autodiff/differentiate.h"
#include "ir/expect_error.h"
#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/instantiate.h"
#include "ir/passes/recompute.h"
#include "ir/transformer_program.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <functional>

namespace parhelion::ir {
namespace {

/// Buffers x, w, acc. Values: 1 x, 2 w, 3 acc, 4 = x * x, 5 = sum rows of 4, 6 = 4 * 4,
/// 7 acc@1 from 6, 8 = zero, 9 = zero updated from 6.
Program small_instance() {
  Program program;
  program.name = "small";
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {3, 10}));
  builder.parameter("w", TensorType(Kind::bf16, {5}));
  const ValueId acc = builder.state("acc", TensorType(Kind::f32, {10}), Lifetime::step);
  builder.set_label("square");
  const ValueId y = builder.one(Binary{BinaryFunction::multiply}, {x, x});
  builder.one(Reduce{ReduceFunction::sum, 1}, {y});
  builder.set_phase(Phase::weight_grad);
  const ValueId z = builder.one(Binary{BinaryFunction::multiply}, {y, y});
  builder.one(AccumulateRows{}, {z, acc});
  const ValueId zero = builder.one(Fill{.value = 0, .shape = {10}}, {});
  builder.one(AccumulateRows{}, {z, zero});
  return program;
}

Range persistent(std::int64_t offset, std::int64_t bytes) {
  return {ArenaKind::persistent, offset, bytes};
}

std::size_t at(ArenaKind arena) { return static_cast<std::size_t>(arena); }

double worst_ratio(const MemoryPlan& plan) {
  double worst = 1.0;
  for (std::size_t i = 0; i < kArenaCount; ++i) {
    if (plan.lower_bound_bytes[i] == 0) continue;
    worst = std::max(worst, static_cast<double>(plan.peak_bytes[i]) /
                                static_cast<double>(plan.lower_bound_bytes[i]));
  }
  return worst;
}

Capacities capacities(std::int64_t tokens) {
  Capacities result;
  result[Symbol::tokens] = tokens;
  result[Symbol::documents] = 4;
  result[Symbol::rows] = 4;
  result[Symbol::logit_rows] = 4;
  result[Symbol::pages_per_row] = 8;
  result[Symbol::pages] = 64;
  return result;
}

constexpr TransformerSize kSmolSize{
    .hidden = 576, .heads = 9, .kv_heads = 3, .head_dim = 64, .inner = 1536, .vocabulary = 49152};

Program gradient_instance(TransformerSize size, std::int64_t layers, Recompute policy) {
  Program program;
  program.name = "train";
  size.layers = layers;
  differentiate(program, TransformerProgram(program, size).add_train());
  recompute(program, policy);
  fuse(program);
  fold_views(program);
  return instantiate(program, capacities(512));
}

Program extend_instance(std::int64_t layers, std::int64_t tokens) {
  Program program;
  program.name = "extend";
  TransformerSize size = kSmolSize;
  size.layers = layers;
  TransformerProgram(program, size).add_extend();
  fuse(program);
  fold_views(program);
  return instantiate(program, capacities(tokens));
}

TEST(AllocateOffsets, SharesBytesOfBlocksThatAreNotLiveTogether) {
  std::vector<Block> blocks{{.bytes = 64, .first = 1, .last = 2},
                            {.bytes = 128, .first = 2, .last = 3},
                            {.bytes = 64, .first = 3, .last = 4}};
  EXPECT_EQ(allocate_offsets(blocks), 192);
  EXPECT_EQ(most_live_bytes(blocks), 192);
  EXPECT_EQ(blocks[0].offset, blocks[2].offset);
}

TEST(AllocateOffsets, FindsTheBoundWhereLargestFirstMissesIt) {
  // Of four equal blocks, the one that lives beside all others must not lie in the middle.
  std::vector<Block> blocks{{.bytes = 192, .first = 1, .last = 2},
                            {.bytes = 64, .first = 2, .last = 3},
                            {.bytes = 64, .first = 3, .last = 5},
                            {.bytes = 64, .first = 1, .last = 4},
                            {.bytes = 192, .first = 5, .last = 5}};
  EXPECT_EQ(allocate_offsets(blocks), most_live_bytes(blocks));
}

TEST(AllocateOffsets, AcceptsNoBlocks) {
  std::vector<Block> blocks;
  EXPECT_EQ(allocate_offsets(blocks), 0);
}

TEST(PlanMemory, GivesBuffersOneAlignedRangeEach) {
  const MemoryPlan plan = plan_memory(small_instance());
  EXPECT_EQ(plan.of_value[0], persistent(0, 120));
  EXPECT_EQ(plan.of_value[1], persistent(128, 10));
  EXPECT_EQ(plan.of_value[2], persistent(192, 40));
  EXPECT_EQ(plan.of_value[6], plan.of_value[2]);
  EXPECT_EQ(plan.peak_bytes[at(ArenaKind::persistent)], 256);
}

TEST(PlanMemory, PutsWhatCrossesPhasesIntoTheSlot) {
  const MemoryPlan plan = plan_memory(small_instance());
  EXPECT_EQ(plan.of_value[3], (Range{ArenaKind::slot, 0, 120}));
  EXPECT_EQ(plan.of_value[4].arena, ArenaKind::transient);
  EXPECT_EQ(plan.of_value[5].arena, ArenaKind::transient);
  EXPECT_EQ(plan.lower_bound_bytes[at(ArenaKind::slot)], 128);
  EXPECT_EQ(plan.lower_bound_bytes[at(ArenaKind::transient)], 192);
}

TEST(PlanMemory, LetsTiedActivationsShareARange) {
  const MemoryPlan plan = plan_memory(small_instance());
  EXPECT_EQ(plan.of_value[7], plan.of_value[8]);
  EXPECT_NE(plan.of_value[7], plan.of_value[5]);
}

TEST(PlanMemory, RefusesSizesBeyond64Bits) {
  Program program;
  Builder builder(program);
  for (const char* buffer : {"a", "b", "c"})
    builder.input(buffer, TensorType(Kind::i8, {std::int64_t{1} << 62}));
  expect_error(ErrorKind::exhausted, "memory plan: values need more than 64 bits of bytes",
               [&] { plan_memory(program); });
}

TEST(PlanMemory, StaysNearTheBoundWithGradients) {
  for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::layer}) {
    for (const std::int64_t layers : {2, 12, 30, 100}) {
      for (const TransformerSize& size : {TransformerSize{}, kSmolSize}) {
        const Program instance = gradient_instance(size, layers, policy);
        const MemoryPlan plan = plan_memory(instance);
        verify(instance);
        verify_memory(instance, plan);
        EXPECT_LE(worst_ratio(plan), 1.05) << layers << " layers, hidden " << size.hidden;
      }
    }
  }
}

TEST(PlanMemory, StaysNearTheBoundWhenServing) {
  for (const std::int64_t layers : {2, 12, 30, 100}) {
    for (const std::int64_t tokens : {4, 64, 512}) {
      const Program instance = extend_instance(layers, tokens);
      const MemoryPlan plan = plan_memory(instance);
      verify(instance);
      verify_memory(instance, plan);
      EXPECT_LE(worst_ratio(plan), 1.05) << layers << " layers, " << tokens << " tokens";
    }
  }
}

TEST(PlanMemory, GivesTheSamePlanEachTime) {
  const Program instance = gradient_instance(kSmolSize, 12, Recompute::none);
  EXPECT_EQ(plan_memory(instance), plan_memory(instance));
}

/// Spoils the plan of the small instance and expects the message.
void expect_corrupt(const std::string& message, const std::function<void(MemoryPlan&)>& change) {
  const Program program = small_instance();
  MemoryPlan plan = plan_memory(program);
  change(plan);
  expect_error(ErrorKind::corrupt, "memory plan: " + message,
               [&] { verify_memory(program, plan); });
}

TEST(VerifyMemory, RefusesAnotherNumberOfRanges) {
  expect_corrupt("has 8 ranges, expected 9", [](MemoryPlan& plan) { plan.of_value.pop_back(); });
}

TEST(VerifyMemory, RefusesRangesOfAnotherSize) {
  expect_corrupt("value 4: has 64 bytes, expected 120 for f32[3, 10]",
                 [](MemoryPlan& plan) { plan.of_value[3].bytes = 64; });
}

TEST(VerifyMemory, RefusesOffsetsThatAreNotAligned) {
  expect_corrupt("value 4: offset is 32, expected a multiple of 64",
                 [](MemoryPlan& plan) { plan.of_value[3].offset = 32; });
  expect_corrupt("value 4: offset is -64, expected a multiple of 64",
                 [](MemoryPlan& plan) { plan.of_value[3].offset = -64; });
}

TEST(VerifyMemory, RefusesRangesThatPassThePeak) {
  expect_corrupt("value 4: 120 bytes at 64 pass the peak 128 of arena slot",
                 [](MemoryPlan& plan) { plan.of_value[3].offset = 64; });
  expect_corrupt("value 4: 120 bytes at 9223372036854775744 pass the peak 128 of arena slot",
                 [](MemoryPlan& plan) { plan.of_value[3].offset = INT64_MAX - 63; });
  expect_corrupt("value 4: 120 bytes at 0 pass the peak -1 of arena slot",
                 [](MemoryPlan& plan) { plan.peak_bytes[at(ArenaKind::slot)] = -1; });
}

TEST(VerifyMemory, RefusesTheWrongArena) {
  expect_corrupt("value 4: arena 7 does not exist",
                 [](MemoryPlan& plan) { plan.of_value[3].arena = static_cast<ArenaKind>(7); });
  expect_corrupt("value 4: lies in arena transient, but is read in another phase",
                 [](MemoryPlan& plan) { plan.of_value[3].arena = ArenaKind::transient; });
  expect_corrupt("value 5: lies in arena persistent, but has no buffer",
                 [](MemoryPlan& plan) { plan.of_value[4] = persistent(0, 12); });
  expect_corrupt("value 2: lies in arena transient, but has a buffer", [](MemoryPlan& plan) {
    plan.of_value[1] = {ArenaKind::transient, 0, 10};
  });
}

TEST(VerifyMemory, RefusesOverlapOfWhatIsLiveTogether) {
  expect_corrupt("values 1 at 0 (120 bytes) and 2 at 64 (10 bytes) overlap in arena persistent",
                 [](MemoryPlan& plan) { plan.of_value[1].offset = 64; });
  expect_corrupt("values 6 at 0 (120 bytes) and 8 at 64 (40 bytes) overlap in arena transient",
                 [](MemoryPlan& plan) {
                   plan.of_value[5].offset = 0;
                   plan.of_value[7].offset = plan.of_value[8].offset = 64;
                 });
}

TEST(VerifyMemory, RefusesTiedValuesInTwoRanges) {
  expect_corrupt("values 3 and 7: are versions of one buffer in two ranges",
                 [](MemoryPlan& plan) { plan.of_value[6].offset = 0; });
  expect_corrupt("values 8 and 9: are tied but lie in two ranges", [](MemoryPlan& plan) {
    plan.of_value[8].offset = plan.of_value[7].offset == 0 ? 64 : 0;
  });
}

TEST(VerifyMemory, RefusesAWrongLowerBound) {
  expect_corrupt("arena slot: lower bound is 64, expected 128",
                 [](MemoryPlan& plan) { plan.lower_bound_bytes[at(ArenaKind::slot)] = 64; });
}

TEST(PrintMemoryPlan, ShowsArenasAndTheBiggestValues) {
  const Program program = small_instance();
  EXPECT_EQ(print(plan_memory(program), program),
            R"(persistent: peak 256 bytes, lower bound 256, ratio 1.000
slot: peak 128 bytes, lower bound 128, ratio 1.000
transient: peak 192 bytes, lower bound 192, ratio 1.000
biggest values
  %1 f32[3, 10]: 120 bytes, persistent at 0, x
  %4 f32[3, 10]: 120 bytes, slot at 0, binary square
  %6 f32[3, 10]: 120 bytes, transient at 0, binary square
  %3 f32[10]: 40 bytes, persistent at 192, acc
  %8 f32[10]: 40 bytes, transient at 128, fill square
  %5 f32[3]: 12 bytes, transient at 0, reduce square
  %2 bf16[5]: 10 bytes, persistent at 128, w
)");
}

}  // namespace
}  // namespace parhelion::ir
