#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/kernels/tier.h"
#include "support/conformance/checks.h"
#include "support/conformance/gradients.h"
#include "support/conformance/parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace parhelion::exec {
namespace {

test::MakeExecutor cpu_maker(int threads, CpuLevel level) {
  return [=] { return make_cpu_executor({.threads = threads, .level = level}); };
}

/// The levels to test, each with its name: those that this processor has.
std::vector<CpuLevel> conformance_levels() {
  if (cpu::widest_tier() <= cpu::Tier::avx2) return {CpuLevel::widest};
  return {CpuLevel::avx2, CpuLevel::widest};
}

struct ConformanceGroup {
  const char* name;
  test::Cases (*cases)();
};

using ConformanceParam = std::tuple<ConformanceGroup, CpuLevel>;

std::string conformance_name(const testing::TestParamInfo<ConformanceParam>& info) {
  const bool is_widest = std::get<1>(info.param) == CpuLevel::widest;
  return fmt::format("{}_{}", std::get<0>(info.param).name, is_widest ? "widest" : "avx2");
}

class CpuConformance : public testing::TestWithParam<ConformanceParam> {
 protected:
  test::Cases cases() const { return std::get<0>(GetParam()).cases(); }
  test::MakeExecutor maker(int threads) const {
    return cpu_maker(threads, std::get<1>(GetParam()));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Families, CpuConformance,
    testing::Combine(testing::Values(ConformanceGroup{"mat_mul", test::mat_mul_cases},
                                     ConformanceGroup{"gate_up", test::gate_up_cases},
                                     ConformanceGroup{"cross_entropy", test::cross_entropy_cases},
                                     ConformanceGroup{"attention", test::attention_cases},
                                     ConformanceGroup{"paged", test::paged_cases},
                                     ConformanceGroup{"norm", test::norm_cases},
                                     ConformanceGroup{"gather", test::gather_cases},
                                     ConformanceGroup{"elementwise", test::elementwise_cases},
                                     ConformanceGroup{"reduce", test::reduce_cases},
                                     ConformanceGroup{"sample", test::sample_cases},
                                     ConformanceGroup{"serving", test::serving_cases},
                                     ConformanceGroup{"update", test::update_cases}),
                     testing::ValuesIn(conformance_levels())),
    conformance_name);

TEST_P(CpuConformance, AgreesWithTheFloat64Reference) {
  for (const test::Case& each : cases()) test::expect_reference(maker(1), each);
}

TEST_P(CpuConformance, HasTheSameBitsOnTwoThreads) {
  for (const test::Case& each : cases()) test::expect_same_bits(maker(1), maker(2), each);
}

TEST_P(CpuConformance, GivesAPartOfAParallelFactorItsBitsInTheWhole) {
  for (const test::Case& each : cases()) test::expect_equal_parts(maker(1), each);
}

TEST(ConformanceCases, CoverEveryFamily) {
  std::set<std::size_t> covered;
  for (const test::Case& each : test::all_cases()) covered.insert(each.op.index());
  EXPECT_EQ(covered.size(), std::variant_size_v<ir::Op>);
}

TEST(ConformanceCases, CutEveryFamilyWithAParallelFactor) {
  std::set<std::string> cut, uncut;
  for (const test::Case& each : test::all_cases()) {
    const std::string name(ir::traits(each.op).name);
    (test::part_cases(each).empty() ? uncut : cut).insert(name);
  }
  for (const std::string& name : cut) uncut.erase(name);
  EXPECT_EQ(uncut, (std::set<std::string>{"dropout", "edit_logits", "keep_tokens", "reshape",
                                          "rms_norm_grad_weight", "squared_norm", "step_scale"}));
}

TEST(CpuPrograms, AgreeWithTheFloat64Reference) {
  for (const CpuLevel level : conformance_levels()) {
    test::expect_program_reference(cpu_maker(2, level), test::decoder_program(ir::Kind::f32));
    test::expect_program_reference(cpu_maker(2, level), test::extend_program(ir::Kind::f32));
  }
}

TEST(CpuGradients, AgreeWithCentralDifferences) {
  for (const CpuLevel level : conformance_levels()) {
    for (const test::LossProgram& each : test::loss_programs()) {
      test::expect_gradients(cpu_maker(2, level), each);
    }
  }
}

TEST(CpuGradients, HaveTheSameBitsUnderEveryPass) {
  for (const test::LossProgram& each : test::loss_programs()) {
    test::expect_same_bits_of_passes(cpu_maker(2, CpuLevel::widest), each);
  }
  test::expect_same_bits_of_passes(cpu_maker(1, CpuLevel::widest),
                                   test::decoder_program(ir::Kind::bf16));
}

}  // namespace
}  // namespace parhelion::exec
