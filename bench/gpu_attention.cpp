// Times attention of Qwen3-0.6B's heads on the GPU: training and its gradient for several loads and
// capacities of documents, decode over pages, and cuDNN's graphs alone with their nodes.
// Usage: bench_gpu_attention [training|decode|forms]...; without arguments all of them.
#include "base/bf16.h"
#include "base/error.h"
#include "exec/executor.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"

#include <fmt/format.h>

#include "executor_choice.h"
#include "gpu_attention_forms.h"
#include "measure.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace {

using namespace parhelion;

constexpr std::int64_t kQueryHeads = 16;
constexpr std::int64_t kKeyHeads = 8;
constexpr std::int64_t kColumns = 128;
constexpr double kScale = 0.08838834764831845;
constexpr std::int64_t kLongest = 4096;
constexpr std::int64_t kPageTokens = 16;
constexpr int kRuns = 7;

const std::vector<float>& some_normals() {
  static const std::vector<float> values = bench::normal_floats(1 << 20);
  return values;
}

void upload_normals(exec::Executor& executor, const std::string& name) {
  executor.upload(name, [](std::span<std::byte> bytes) {
    std::vector<BFloat16> block;
    for (const float each : some_normals()) block.push_back(to_bfloat16(each));
    const std::size_t block_bytes = block.size() * sizeof(BFloat16);
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes)
      std::memcpy(bytes.data() + at, block.data(), std::min(block_bytes, bytes.size() - at));
  });
}

void upload_integers(exec::Executor& executor, const std::string& name,
                     const std::vector<std::int32_t>& values) {
  executor.upload(name, [&](std::span<std::byte> bytes) {
    ensure(bytes.size() == values.size() * sizeof(std::int32_t), ErrorKind::bug,
           "{} has {} bytes, expected {} integers", name, bytes.size(), values.size());
    std::memcpy(bytes.data(), values.data(), bytes.size());
  });
}

/// Median microseconds of each op.
std::vector<double> median_times(exec::Plan& plan) {
  std::vector<std::vector<double>> samples(plan.instance().ops.size());
  for (int run = 0; run <= kRuns; ++run) {
    const auto times = plan.profile();
    for (std::size_t i = 0; run > 0 && i < times.size(); ++i)
      samples[i].push_back(std::chrono::duration<double, std::micro>(times[i]).count());
  }
  std::vector<double> medians;
  for (std::vector<double>& each : samples) {
    std::ranges::nth_element(each, each.begin() + kRuns / 2);
    medians.push_back(each[kRuns / 2]);
  }
  return medians;
}

/// Packed documents. Buffers are named by the tokens, so that loads share them.
struct Packing {
  const char* name;
  std::vector<std::int32_t> lengths;

  std::int64_t tokens() const {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }
  /// Products of visible pairs, of scores and outputs.
  double forward_flops() const {
    double pairs = 0;
    for (const std::int32_t each : lengths) pairs += 0.5 * each * (each + 1.0);
    return 4 * pairs * static_cast<double>(kQueryHeads * kColumns);
  }
  std::vector<std::int32_t> indptr(std::int64_t documents) const {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(documents) + 1,
                                   static_cast<std::int32_t>(tokens()));
    std::exclusive_scan(lengths.begin(), lengths.end(), sums.begin(), 0);
    return sums;
  }
};

ir::Program training_program(std::int64_t tokens, std::int64_t documents) {
  ir::Program program;
  program.name = "training";
  ir::Builder builder(program);
  const ir::TensorType query{ir::Kind::bf16, {tokens, kQueryHeads, kColumns}};
  const ir::TensorType key{ir::Kind::bf16, {tokens, kKeyHeads, kColumns}};
  const ir::ValueId q = builder.state(fmt::format("q.{}", tokens), query);
  const ir::ValueId k = builder.state(fmt::format("k.{}", tokens), key);
  const ir::ValueId v = builder.state(fmt::format("v.{}", tokens), key);
  const ir::ValueId d_o = builder.state(fmt::format("d_o.{}", tokens), query);
  const ir::ValueId indptr =
      builder.state(fmt::format("indptr.{}", documents), {ir::Kind::i32, {documents + 1}});
  const auto o =
      builder.add(ir::Attention{.scale = kScale, .longest = kLongest}, {q, k, v, indptr});
  builder.add(ir::AttentionGrad{.scale = kScale, .longest = kLongest},
              {q, k, v, o[0], o[1], d_o, indptr});
  return program;
}

void time_packing(exec::Executor& executor, const Packing& packing, std::int64_t documents) {
  const ir::Program program = training_program(packing.tokens(), documents);
  const auto plan = executor.plan(ir::lower(program, {}), exec::Weights::trained);
  for (const char* name : {"q", "k", "v", "d_o"})
    upload_normals(executor, fmt::format("{}.{}", name, packing.tokens()));
  upload_integers(executor, fmt::format("indptr.{}", documents), packing.indptr(documents));
  const std::vector<double> times = median_times(*plan);
  const double flops = packing.forward_flops();
  fmt::print(
      "{:14} capacity {:3}: forward {:7.1f} us {:5.0f} TF, gradient {:7.1f} us {:5.0f} TF, "
      "workspace {:6.2f} GiB\n",
      packing.name, documents, times[0], flops / times[0] * 1e-6, times[1],
      2.5 * flops / times[1] * 1e-6,
      static_cast<double>(plan->steps()[1].workspace_bytes) / 1073741824);
}

void time_training(std::string_view device) {
  const auto executor = bench::make_executor(device);
  const Packing packings[] = {
      {"4 x 4096", std::vector<std::int32_t>(4, 4096)},
      {"8 x 4096", std::vector<std::int32_t>(8, 4096)},
      {"11 mixed", {4096, 3000, 2500, 2048, 1500, 1200, 900, 640, 300, 150, 50}},
      {"64 x 256", std::vector<std::int32_t>(64, 256)}};
  fmt::print("training, {}\n", executor->describe());
  for (const Packing& packing : packings) {
    for (const std::int64_t documents : {4, 16, 64, 512}) {
      if (documents >= std::ssize(packing.lengths)) time_packing(*executor, packing, documents);
    }
  }
}

struct Decode {
  std::int64_t rows, context;
  std::int64_t pages_per_row() const { return context / kPageTokens; }
  std::int64_t pages() const { return rows * pages_per_row(); }
};

/// Two layers of the same rows: a plan lays them out in the first alone.
std::unique_ptr<exec::Plan> plan_decode(exec::Executor& executor, const Decode& load) {
  ir::Program program;
  program.name = "decode";
  ir::Builder builder(program);
  const auto [rows, context] = load;
  const std::string of = fmt::format(".{}x{}", rows, context);
  const ir::TensorType pages{ir::Kind::bf16, {load.pages(), kPageTokens, kKeyHeads, kColumns}};
  const std::vector<ir::ValueId> operands = {
      builder.state("q" + of, {ir::Kind::bf16, {rows, kQueryHeads, kColumns}}),
      builder.state("keys" + of, pages),
      builder.state("values" + of, pages),
      builder.state("table" + of, {ir::Kind::i32, {rows, load.pages_per_row()}}),
      builder.state("indptr" + of, {ir::Kind::i32, {rows + 1}}),
      builder.state("lengths" + of, {ir::Kind::i32, {rows}})};
  for (int layer = 0; layer < 2; ++layer)
    builder.add(ir::PagedAttention{.scale = kScale}, operands);
  auto plan = executor.plan(ir::lower(program, {}), exec::Weights::frozen);
  for (const char* name : {"q", "keys", "values"}) upload_normals(executor, name + of);
  std::vector<std::int32_t> table(static_cast<std::size_t>(load.pages()));
  std::vector<std::int32_t> indptr(static_cast<std::size_t>(rows) + 1);
  std::iota(table.begin(), table.end(), 0);
  std::iota(indptr.begin(), indptr.end(), 0);
  upload_integers(executor, "table" + of, table);
  upload_integers(executor, "indptr" + of, indptr);
  upload_integers(executor, "lengths" + of,
                  std::vector<std::int32_t>(static_cast<std::size_t>(rows),
                                            static_cast<std::int32_t>(context)));
  return plan;
}

void time_decode(std::string_view device) {
  const auto executor = bench::make_executor(device);
  fmt::print("decode, {}\n", executor->describe());
  for (const Decode& load : {Decode{1, 1024}, {8, 1024}, {64, 1024}, {256, 1024}, {64, 4096}}) {
    const auto plan = plan_decode(*executor, load);
    const std::vector<double> times = median_times(*plan);
    const double time = times[1];
    const auto bytes = static_cast<double>(4 * load.rows * load.context * kKeyHeads * kColumns);
    fmt::print(
        "{:4} rows of {:5} keys {:7.1f} us {:6.0f} GB/s of keys and values, {}; first layer {:.1f} "
        "us\n",
        load.rows, load.context, time, bytes / time * 1e-3, plan->steps()[0].kernel, times[0]);
  }
}

void time_part(std::string_view part) {
  if (part == "forms") return bench::time_attention_forms();
  ensure(part == "training" || part == "decode", ErrorKind::invalid,
         "'{}' is no part, expected training, decode or forms", part);
  for (const char* device : {"cuda", "cuda:fast"})
    part == "training" ? time_training(device) : time_decode(device);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> parts(argv + 1, argv + argc);
  if (parts.empty()) parts = {"training", "decode", "forms"};
  try {
    for (const std::string_view part : parts) time_part(part);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
