#include "base/error.h"
#include "base/file.h"
#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/plan_files.h"
#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "support/conformance/data.h"
#include "support/conformance/loss_programs.h"
#include "support/conformance/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <unistd.h>

namespace parhelion::exec {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A program with an attention of cuDNN, whose plan is kept.
class CudaPlanCacheTest : public testing::Test {
 protected:
  test::Wide attention_with_cache() {
    const test::Case packed{
        .name = "packed",
        .op = ir::Attention{.scale = 0.125, .longest = 64},
        .inputs = {test::normals(test::kBf16, {64, 2, 64}, 1),
                   test::normals(test::kBf16, {64, 1, 64}, 2),
                   test::normals(test::kBf16, {64, 1, 64}, 3), test::prefix_sums({40, 24})}};
    const auto make = [this] { return make_cuda_executor({.plan_cache = directory_.path()}); };
    return test::run_case(make, packed).outputs.front();
  }

  std::vector<std::filesystem::path> plan_files() const {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      result.push_back(entry.path());
    return result;
  }

  /// Expects that plans changed by `change` are refused, in words, and made anew.
  void expect_made_anew(const std::function<void(const std::filesystem::path&)>& change,
                        const std::string& log) {
    const test::Wide expected = attention_with_cache();
    ASSERT_FALSE(plan_files().empty());
    for (const std::filesystem::path& file : plan_files()) change(file);
    testing::internal::CaptureStderr();
    const test::Wide anew = attention_with_cache();
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(log));
    EXPECT_TRUE(test::same_bits(anew, expected));
    testing::internal::CaptureStderr();
    EXPECT_TRUE(test::same_bits(attention_with_cache(), expected));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }

  TemporaryDirectory directory_{std::filesystem::temp_directory_path() /
                                fmt::format("parhelion_cuda_plans_{}", ::getpid())};
};

TEST_F(CudaPlanCacheTest, MakesDamagedPlansAnew) {
  expect_made_anew(
      [](const std::filesystem::path& file) {
        std::string bytes = read_file(file);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        std::ofstream(file) << bytes;
      },
      "is damaged, expected a plan; it is made anew");
}

TEST_F(CudaPlanCacheTest, MakesPlansThatAreCutOffAnew) {
  expect_made_anew(
      [](const std::filesystem::path& file) { std::filesystem::resize_file(file, 100); },
      "is damaged, expected a plan; it is made anew");
}

/// As another version of the library would find them under a key that it shares.
TEST_F(CudaPlanCacheTest, MakesPlansThatTheLibraryRefusesAnew) {
  expect_made_anew(
      [this](const std::filesystem::path& file) {
        constexpr std::size_t kHash = 32;
        const std::string bytes = read_file(file);
        const std::string key = bytes.substr(kHash, bytes.find('\n') - kHash);
        EXPECT_THAT(key, HasSubstr("cudnn 9"));
        EXPECT_THAT(key, HasSubstr("driver 1"));
        cuda::PlanFiles(directory_.path()).keep(key, "a plan of another version");
      },
      "cuDNN cannot read the plan kept for");
}

TEST(CudaNan, InWeightsGivesNanLogits) {
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
      test::FilledProgram made = test::extend_program(kind);
      std::ranges::fill(made.buffers.at("table").values, kNan);
      const auto executor = make_cuda_executor({.numerics = numerics});
      const auto plan = executor->plan(ir::lower(made.program, made.capacities), Weights::frozen);
      const test::Wide logits = test::run_instance(*executor, *plan, made.buffers).at("logits");
      EXPECT_GT(logits.size(), 0);
      EXPECT_TRUE(std::ranges::all_of(logits.values, [](double x) { return std::isnan(x); }));
    }
  }
}

TEST(CudaNan, InWeightsGivesANanLossAndNanGradients) {
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    test::LossProgram made = test::decoder_program(kind);
    ir::differentiate(made.program, made.loss);
    std::ranges::fill(made.buffers.at("table").values, kNan);
    const auto executor = make_cuda_executor({});
    const auto plan = executor->plan(ir::lower(made.program, made.capacities), Weights::trained);
    const test::NamedWide results = test::run_instance(*executor, *plan, made.buffers);
    EXPECT_TRUE(std::isnan(results.at("loss")[0]));
    const test::Wide& gradient = results.at(ir::gradient_name("table"));
    EXPECT_TRUE(std::ranges::any_of(gradient.values, [](double x) { return std::isnan(x); }));
  }
}

/// Logits in turn: numbers, NaN alone, minus infinity alone.
TEST(CudaNan, InAllLogitsOfARowDrawsNoToken) {
  constexpr std::int64_t kRows = 6, kVocabulary = 5000;
  test::Wide logits = test::normals(test::kF32, {kRows, kVocabulary}, 1);
  for (std::int64_t i = 0; i < logits.size(); ++i) {
    if (i / kVocabulary % 3 == 1) logits[i] = kNan;
    if (i / kVocabulary % 3 == 2) logits[i] = -std::numeric_limits<double>::infinity();
  }
  const test::Case drawn{
      .name = "sample",
      .op = ir::Sample{},
      .inputs = {logits, test::listed(test::kF32, {0, 0, 0, 1, 1, 1}),
                 test::filled(ir::Kind::i32, {kRows}, 40), test::filled(test::kF32, {kRows}, 0.9),
                 test::filled(test::kF32, {kRows}, 0.01), test::filled(ir::Kind::u64, {kRows}, 7),
                 test::filled(ir::Kind::u64, {kRows}, 0)}};
  const test::Wide ids =
      test::run_case([] { return make_cuda_executor({}); }, drawn).outputs.front();
  for (std::int64_t row = 0; row < kRows; ++row)
    EXPECT_EQ(ids[row] == -1, row % 3 != 0) << "row " << row << ": " << ids[row];
}

/// Sums a state.
ir::Program sum_of_state(std::int64_t count) {
  ir::Program program;
  program.name = "sum";
  ir::Builder builder(program);
  const ir::ValueId x = builder.state("x" + std::to_string(count), {ir::Kind::f32, {count}});
  builder.output("sum", builder.one(ir::Reduce{ir::ReduceFunction::sum}, {x}));
  return ir::lower(program, {});
}

/// Sums rows of a table, `rows` of `columns` numbers.
ir::Program sum_of_rows(std::int64_t rows, std::int64_t columns) {
  ir::Program program;
  program.name = "rows";
  ir::Builder builder(program);
  const ir::ValueId ids = builder.input("ids", {ir::Kind::i32, {rows}});
  const ir::ValueId table = builder.state("table", {ir::Kind::f32, {1, columns}});
  const ir::ValueId x = builder.one(ir::Embedding{}, {ids, table});
  builder.output("sum", builder.one(ir::Reduce{ir::ReduceFunction::sum}, {x}));
  return ir::lower(program, {});
}

std::string plan_error(Executor& executor, const ir::Program& instance) {
  try {
    executor.plan(instance, Weights::frozen);
  } catch (const Error& error) {
    EXPECT_EQ(name(error.kind()), name(ErrorKind::exhausted));
    return error.what();
  }
  return "no error";
}

TEST(CudaMemory, SaysHowMuchIsMissing) {
  const std::string rest = " GiB more and [0-9.]+ of [0-9.]+ GiB are free: [0-9.]+ GiB are missing";
  const auto executor = make_cuda_executor({});
  EXPECT_THAT(plan_error(*executor, sum_of_state(std::int64_t{1} << 38)),
              MatchesRegex("cuda: persistent memory needs 1024.00" + rest));
  EXPECT_THAT(plan_error(*executor, sum_of_state(std::int64_t{1} << 39)),
              MatchesRegex("cuda: persistent memory needs 2048.00 GiB, more than one range of "
                           "addresses"));
  EXPECT_THAT(plan_error(*executor, sum_of_rows(1 << 12, 1 << 24)),
              MatchesRegex("cuda: activation memory needs 256.00" + rest));
}

TEST(CudaMemory, IsUsableAfterItWasMissing) {
  const auto executor = make_cuda_executor({});
  EXPECT_NE(plan_error(*executor, sum_of_state(std::int64_t{1} << 38)), "no error");
  const auto plan = executor->plan(sum_of_state(3), Weights::frozen);
  executor->upload("x3", [](std::span<std::byte> bytes) {
    test::to_bytes(test::listed(test::kF32, {1, 2, 4}), bytes);
  });
  plan->run();
  EXPECT_EQ(host_span<float>(*plan, "sum").front(), 7);
}

}  // namespace
}  // namespace parhelion::exec
