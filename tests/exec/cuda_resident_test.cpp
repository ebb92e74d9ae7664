#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/fusion.h"
#include "ir/passes/lower.h"
#include "ir/transformer_program.h"
#include "support/conformance/data.h"
#include "support/conformance/run.h"
#include "support/reference/evaluate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::exec {
namespace {

using ir::TransformerSize;

constexpr std::int64_t kResidentPages = 40;
constexpr std::int64_t kResidentPageTokens = 16;
constexpr std::int64_t kResidentRoom = kResidentPages * kResidentPageTokens;
constexpr double kResidentBound = 2e-2;  // of bf16 between ops, over two layers

/// Sizes of the least layers that the kernel takes, of a form that a test chooses.
TransformerSize resident_size(std::int64_t hidden, std::int64_t heads, std::int64_t inner,
                              bool head_norms) {
  return {.layers = 2,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = 8,
          .head_dim = 128,
          .inner = inner,
          .vocabulary = 256,
          .kind = test::kBf16,
          .head_norms = head_norms,
          .positions = kResidentRoom};
}

/// The first: chunks of 1024 columns; the second: rests of chunks, rows that blocks share unevenly.
std::vector<TransformerSize> resident_sizes() {
  return {resident_size(1024, 16, 1024, true), resident_size(1152, 24, 1408, false)};
}

ir::Program resident_instance(const TransformerSize& size) {
  ir::Program program;
  program.name = "extend";
  ir::TransformerProgram(program, size).add_extend();
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = capacities[ir::Symbol::rows] = 1;
  capacities[ir::Symbol::logit_rows] = 1;
  capacities[ir::Symbol::pages_per_row] = kResidentPages;
  capacities[ir::Symbol::pages] = kResidentPages + 1;
  return ir::lower(program, capacities);
}

/// Weights of unit scale, gains about one, and pages full of numbers.
test::NamedWide resident_contents(const ir::Program& instance) {
  test::NamedWide contents;
  std::uint64_t seed = 20;
  for (const ir::Buffer& buffer : instance.buffers) {
    if (buffer.role != ir::Role::parameter && buffer.role != ir::Role::state) continue;
    std::vector<std::int64_t> dims;
    for (const ir::Dim& dim : buffer.type.shape) dims.push_back(dim.base);
    const bool is_gain = dims.size() == 1;
    const bool is_weight = dims.size() == 2 && buffer.name != "table";
    const double scale = is_gain ? 0.1 : is_weight ? test::unit_scale(dims[1]) : 1.0;
    test::Wide content = test::normals(test::kBf16, dims, ++seed, scale);
    if (is_gain)
      for (double& value : content.values) value = test::rounded(test::kBf16, value + 1);
    contents[buffer.name] = std::move(content);
  }
  return contents;
}

/// The page of a part of the row; page 0 is nobody's.
std::int64_t resident_page(std::int64_t part) { return kResidentPages - part; }

/// Inputs of a step whose new token is the last of `length`; without one the row is idle.
test::NamedWide resident_inputs(std::int64_t length) {
  test::Wide table = test::zeros({ir::Kind::i32, {1, kResidentPages}});
  const std::int64_t used = (length + kResidentPageTokens - 1) / kResidentPageTokens;
  for (std::int64_t part = 0; part < used; ++part)
    table[part] = static_cast<double>(resident_page(part));
  const std::int64_t last = std::max<std::int64_t>(length - 1, 0);
  const std::int64_t location =
      resident_page(last / kResidentPageTokens) * kResidentPageTokens + last % kResidentPageTokens;
  const bool is_idle = length == 0;
  const auto i32 = [](double value) { return test::listed(ir::Kind::i32, {value}); };
  return {{"ids", i32(static_cast<double>(length % 251))},
          {"positions", i32(static_cast<double>(last))},
          {"kv_length", i32(static_cast<double>(length))},
          {"query_indptr", test::prefix_sums({is_idle ? 0 : 1})},
          {"page_table", std::move(table)},
          {"write_location",
           test::listed(ir::Kind::i64, {is_idle ? -1.0 : static_cast<double>(location)})},
          {"logit_index", i32(0)}};
}

/// A plan with its own pages.
class ResidentSession {
 public:
  ResidentSession(const ir::Program& instance, const test::NamedWide& contents, Fusions fusions)
      : executor_(make_cuda_executor({.numerics = Numerics::fast, .fusions = fusions})),
        plan_(executor_->plan(instance, Weights::frozen)) {
    for (const auto& [name, content] : contents)
      executor_->upload(name, [&](std::span<std::byte> to) { test::to_bytes(content, to); });
  }

  test::Wide logits(std::int64_t length) {
    for (const auto& [name, content] : resident_inputs(length))
      test::to_bytes(content, plan_->host(name));
    return run_again();
  }
  test::Wide run_again() {
    plan_->run();
    return test::from_bytes({ir::Kind::f32, {1, 256}}, plan_->host("logits"));
  }
  test::Wide state(const std::string& name) {
    for (const ir::Buffer& buffer : plan_->instance().buffers)
      if (buffer.name == name) return test::from_bytes(buffer.type, executor_->download(name));
    return {};
  }
  std::ptrdiff_t resident_ops() const {
    return std::ranges::count(plan_->steps(), "resident", &StepReport::kernel);
  }
  std::vector<std::string> refusals() const {
    std::vector<std::string> result;
    for (const StepReport& step : plan_->steps())
      result.insert(result.end(), step.refusals.begin(), step.refusals.end());
    return result;
  }

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Plan> plan_;
};

/// |a - b| / |b|.
double relative_distance(const test::Wide& a, const test::Wide& b) {
  double distance = 0, norm = 0;
  for (std::int64_t i = 0; i < b.size(); ++i) {
    distance += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(distance / norm);
}

const std::vector<std::string> kResidentStates = {"layers.0.keys", "layers.0.values",
                                                  "layers.1.keys", "layers.1.values"};

/// How many ops from the first norm on a fusion of all layers takes.
std::size_t resident_match(const ir::Program& instance) {
  const cuda::Uses uses(instance);
  const ir::MemoryPlan memory = ir::plan_memory(instance);
  std::size_t first = 0;
  while (!std::holds_alternative<ir::RmsNorm>(instance.ops[first].op)) ++first;
  for (const cuda::Fusion& fusion : cuda::all_fusions()) {
    if (fusion.name != "resident") continue;
    const std::size_t count = fusion.match(uses, first, instance.ops.size());
    EXPECT_TRUE(count == 0 || cuda::fits_memory(fusion, uses, memory, first, count));
    return count;
  }
  return 0;
}

TEST(ResidentFusion, TakesTheLayersOfOneRow) {
  EXPECT_EQ(resident_match(resident_instance(resident_size(1024, 16, 1024, true))), 31u);
  EXPECT_EQ(resident_match(resident_instance(resident_size(1152, 24, 1408, false))), 27u);
}

TEST(CudaResident, AgreesWithSingleKernelsAtAnyLength) {
  for (const TransformerSize& size : resident_sizes()) {
    const ir::Program instance = resident_instance(size);
    const test::NamedWide contents = resident_contents(instance);
    ResidentSession alone(instance, contents, Fusions::off);
    ResidentSession resident(instance, contents, Fusions::on);
    EXPECT_EQ(alone.resident_ops(), 0);
    EXPECT_EQ(resident.resident_ops(), size.head_norms ? 31 : 27);
    for (const std::int64_t length : {1,   2,   15,  16,  17,  64,  65,  128, 192, 193,
                                      194, 209, 256, 257, 400, 512, 513, 639, 640, 3}) {
      const double distance = relative_distance(resident.logits(length), alone.logits(length));
      EXPECT_LT(distance, kResidentBound) << size.hidden << ", length " << length;
    }
    for (const std::string& name : kResidentStates)
      EXPECT_LT(relative_distance(resident.state(name), alone.state(name)), kResidentBound);
  }
}

TEST(CudaResident, GivesWhatTheReferenceGives) {
  for (const TransformerSize& size : resident_sizes()) {
    const ir::Program instance = resident_instance(size);
    const test::NamedWide contents = resident_contents(instance);
    for (const std::int64_t length : {37, 300}) {
      ResidentSession resident(instance, contents, Fusions::on);  // a run changes its states
      test::NamedWide buffers = contents;
      buffers.merge(resident_inputs(length));
      const test::NamedWide expected = test::evaluate(instance, buffers);
      EXPECT_LT(relative_distance(resident.logits(length), expected.at("logits")), kResidentBound)
          << size.hidden << ", length " << length;
    }
  }
}

TEST(CudaResident, WritesTheNewKeyAndValueAndNothingElse) {
  const ir::Program instance = resident_instance(resident_sizes().front());
  const test::NamedWide contents = resident_contents(instance);
  ResidentSession resident(instance, contents, Fusions::on);
  constexpr std::int64_t kRow = 8 * 128;
  constexpr std::int64_t kLength = 230;
  resident.logits(kLength);
  const std::int64_t first =
      (resident_page((kLength - 1) / kResidentPageTokens) * kResidentPageTokens +
       (kLength - 1) % kResidentPageTokens) *
      kRow;
  for (const std::string& name : kResidentStates) {
    const test::Wide after = resident.state(name);
    const test::Wide& before = contents.at(name);
    for (std::int64_t i = 0; i < before.size(); ++i) {
      if (i >= first && i < first + kRow) continue;
      ASSERT_EQ(after[i], before[i]) << name << ", element " << i;
    }
  }
}

TEST(CudaResident, RepeatsItsBits) {
  const ir::Program instance = resident_instance(resident_sizes().front());
  ResidentSession resident(instance, resident_contents(instance), Fusions::on);
  for (const std::int64_t length : {100, 600}) {
    const test::Wide first = resident.logits(length);
    for (int run = 0; run < 100; ++run) ASSERT_TRUE(test::same_bits(resident.run_again(), first));
  }
}

TEST(CudaResident, LeavesPagesAloneWhereTheRowIsIdle) {
  const ir::Program instance = resident_instance(resident_sizes().front());
  const test::NamedWide contents = resident_contents(instance);
  ResidentSession resident(instance, contents, Fusions::on);
  const test::Wide before = resident.logits(50);
  std::vector<test::Wide> states;
  for (const std::string& name : kResidentStates) states.push_back(resident.state(name));
  const test::Wide idle = resident.logits(0);
  for (const double value : idle.values) EXPECT_TRUE(std::isfinite(value));
  for (std::size_t i = 0; i < states.size(); ++i)
    EXPECT_TRUE(test::same_bits(resident.state(kResidentStates[i]), states[i]));
  EXPECT_TRUE(test::same_bits(resident.logits(50), before));
}

TEST(CudaResident, RefusesOtherLayersByName) {
  TransformerSize size = resident_size(1024, 16, 1024, true);
  size.head_dim = 64;
  const ir::Program instance = resident_instance(size);
  ResidentSession session(instance, resident_contents(instance), Fusions::on);
  EXPECT_EQ(session.resident_ops(), 0);
  const std::vector<std::string> refusals = session.refusals();
  EXPECT_EQ(std::ranges::count(refusals, "resident of 31: heads have not 128 columns"), 1);
  const test::Wide logits = session.logits(20);
  for (const double value : logits.values) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace parhelion::exec
