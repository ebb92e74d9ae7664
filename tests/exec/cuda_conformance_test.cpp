#include "exec/cuda/cuda_executor.h"
#include "support/conformance/checks.h"
#include "support/conformance/gradients.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace parhelion::exec {
namespace {

/// Library plans found once serve every case of this process.
std::filesystem::path shared_plan_cache() {
  return std::filesystem::temp_directory_path() / fmt::format("parhelion_plans_{}", ::getpid());
}

test::MakeExecutor cuda_maker(Numerics numerics = Numerics::exact) {
  return [=] {
    return make_cuda_executor(
        {.numerics = numerics, .plan_cache = shared_plan_cache(), .checks = MemoryChecks::on});
  };
}

/// cuDNN rounds probabilities and their gradients to bf16 before it multiplies them.
constexpr double kRoundedProbabilities = 0x1p-5;

/// A product multiplies the values of every slot of a page, with 0 where none is held: what lies
/// there must be finite, as the engine sees to.
test::Cases paged_cases_of_finite_pages() {
  test::Cases cases = test::paged_cases();
  for (test::Case& each : cases) {
    for (const std::size_t pages : {1u, 2u}) {
      for (std::int64_t i = 0; i < each.inputs[pages].size(); ++i)
        if (std::isnan(each.inputs[pages][i])) each.inputs[pages][i] = 3;
    }
  }
  return cases;
}

struct CudaGroup {
  const char* name;
  test::Cases (*cases)();
  double slack = 0;
};

std::string group_name(const testing::TestParamInfo<CudaGroup>& info) { return info.param.name; }

class CudaConformance : public testing::TestWithParam<CudaGroup> {};

INSTANTIATE_TEST_SUITE_P(
    Families, CudaConformance,
    testing::Values(
        CudaGroup{"mat_mul", test::mat_mul_cases}, CudaGroup{"gate_up", test::gate_up_cases},
        CudaGroup{"cross_entropy", test::cross_entropy_cases},
        CudaGroup{"attention", test::attention_cases, kRoundedProbabilities},
        CudaGroup{"paged", paged_cases_of_finite_pages, kRoundedProbabilities},
        CudaGroup{"norm", test::norm_cases}, CudaGroup{"gather", test::gather_cases},
        CudaGroup{"elementwise", test::elementwise_cases}, CudaGroup{"reduce", test::reduce_cases},
        CudaGroup{"sample", test::sample_cases}, CudaGroup{"serving", test::serving_cases},
        CudaGroup{"update", test::update_cases}),
    group_name);

TEST_P(CudaConformance, AgreesWithTheFloat64Reference) {
  for (const test::Case& each : GetParam().cases())
    test::expect_reference(cuda_maker(), each, GetParam().slack);
}

TEST_P(CudaConformance, HasTheSameBitsInEveryRun) {
  for (const test::Case& each : GetParam().cases())
    test::expect_same_bits(cuda_maker(), cuda_maker(), each);
}

TEST_P(CudaConformance, GivesAPartOfAParallelFactorItsBitsInTheWhole) {
  for (const test::Case& each : GetParam().cases())
    test::expect_equal_parts(cuda_maker(), each, test::Across::numerics_may_differ);
}

TEST_P(CudaConformance, AgreesWithTheFloat64ReferenceWhenFast) {
  for (const test::Case& each : GetParam().cases())
    test::expect_reference(cuda_maker(Numerics::fast), each, GetParam().slack);
}

TEST(CudaPrograms, AgreeWithTheFloat64Reference) {
  test::expect_program_reference(cuda_maker(), test::decoder_program(ir::Kind::f32));
  test::expect_program_reference(cuda_maker(), test::extend_program(ir::Kind::f32));
}

TEST(CudaGradients, AgreeWithCentralDifferences) {
  for (const test::LossProgram& each : test::loss_programs())
    test::expect_gradients(cuda_maker(), each);
}

TEST(CudaGradients, HaveTheSameBitsUnderEveryPass) {
  for (const test::LossProgram& each : test::loss_programs())
    test::expect_same_bits_of_passes(cuda_maker(), each);
  test::expect_same_bits_of_passes(cuda_maker(), test::decoder_program(ir::Kind::bf16));
}

}  // namespace
}  // namespace parhelion::exec
