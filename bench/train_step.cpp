// One training step of a decoder in float32 or bf16, random weights: forward, backward, AdamW.
//   bench_train_step BATCH TOKENS DTYPE DEVICE RUNS CONFIG.json [RANK [RECOMPUTE]]
// DEVICE is a number of threads, cuda, cuda:invariant or cuda:fast.
// With a RANK above 0, low-rank adapters at all projections are trained instead, with dropout 0.05.
// RECOMPUTE is what `model.recompute` or `model.memory_budget` of a job may be. Prints one JSON
// object: median seconds, tokens/s, GFLOP/s by 6 * parameters * tokens, time by op family with the
// rate of each, the measured matmul peak, planned and resident memory.

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "model/recipes/registry.h"
#include "train/config/byte_size.h"
#include "train/loop/initial_weights.h"
#include "train/loop/job_report.h"
#include "train/loop/matmul_peak.h"
#include "train/loop/step_plans.h"

#include "executor_choice.h"
#include "family_times.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/resource.h>

namespace parhelion {
namespace {

struct StepSetting {
  std::int64_t batch, tokens;
  train::NumberFormat dtype;
  std::string_view device;
  int runs;
  std::int64_t rank;  ///< of adapters; 0: none
  std::string_view recompute;
};

train::Microbatch random_microbatch(const StepSetting& setting, std::int64_t vocabulary) {
  const train::Bucket bucket = train::bucket_of(setting.batch * setting.tokens);
  train::Microbatch batch;
  batch.capacity_tokens = bucket.tokens;
  batch.capacity_documents = bucket.documents;
  for (std::int64_t i = 0; i < bucket.tokens; ++i) {
    const auto draw = philox(2, static_cast<std::uint64_t>(i), 0);
    const auto limit = static_cast<std::uint32_t>(vocabulary);
    batch.token_ids.push_back(static_cast<std::int32_t>(draw[0] % limit));
    batch.labels.push_back(static_cast<std::int32_t>(draw[1] % limit));
    batch.positions.push_back(static_cast<std::int32_t>(i % setting.tokens));
    batch.loss_weight.push_back(1);
  }
  for (std::int64_t d = 0; d <= bucket.documents; ++d)
    batch.document_indptr.push_back(
        static_cast<std::int32_t>(std::min(d, setting.batch) * setting.tokens));
  return batch;
}

void set_recompute(train::ModelSettings& model, std::string_view recompute) {
  if (train::parse_byte_size(recompute)) {
    model.recompute = train::Recompute::automatic;
    model.memory_budget = std::string(recompute);
    return;
  }
  for (const auto& each : choices(static_cast<const train::Recompute*>(nullptr)))
    if (each.name == recompute) model.recompute = each.value;
  ensure(model.recompute.has_value(), ErrorKind::invalid, "bench: unknown recompute '{}'",
         recompute);
}

train::Job job_of(const StepSetting& setting) {
  train::Job job;
  job.model.dtype = setting.dtype;
  job.data.sequence_tokens = setting.tokens;
  job.data.microbatch_tokens = setting.batch * setting.tokens;
  job.data.buckets = {job.data.microbatch_tokens};
  job.optimizer.lr = 1e-4;
  set_recompute(job.model, setting.recompute);
  if (setting.rank > 0) job.lora = train::LoraSettings{.rank = setting.rank, .dropout = 0.05};
  return job;
}

void upload_random_weights(const model::Model& model, exec::Executor& executor) {
  std::vector<ir::Buffer> base, adapters;
  for (const ir::Buffer& buffer : executor.parameters())
    (buffer.trainable && model.lora ? adapters : base).push_back(buffer);
  train::initialise_weights(base, 0.02, 1, executor);
  if (model.lora) train::initialise_adapters(*model.lora, adapters, 1, executor);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// GFLOP/s of each op family and phase of a plan, by the cost that ops declare.
Json::Object rates(const ir::Program& instance, const Json::Object& seconds) {
  std::map<std::string, double> flops;
  for (const ir::OpNode& node : instance.ops) {
    flops[family_key(node)] +=
        ir::cost(node.op, ir::input_types(instance, node), ir::output_types(instance, node)).flops;
  }
  Json::Object result;
  for (const auto& [name, time] : seconds)
    result.emplace_back(name, flops[name] / 1e9 / time.as_double(name));
  return result;
}

void run(const StepSetting& setting, const Json& config) {
  const train::Job job = job_of(setting);
  const model::Model model =
      train::model_of_job(model::find_recipe(config).from_config(config), job);
  const train::TrainingPrograms programs = train::build_programs(model, job);
  const auto executor = bench::make_executor(setting.device);
  train::StepPlans plans(programs, job, *executor);
  upload_random_weights(model, *executor);
  const train::Microbatch batch = random_microbatch(setting, model.vocabulary);
  std::vector<double> whole, update;
  for (int i = 0; i <= setting.runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    plans.accumulate(batch, 0);
    const auto middle = std::chrono::steady_clock::now();
    plans.update({.lr = 1e-4, .update = i + 1});
    if (i == 0) continue;  // the first touches the memory
    whole.push_back(seconds_since(begin));
    update.push_back(seconds_since(middle));
  }
  const auto median = [](std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  std::int64_t count = 0;
  for (const ir::Buffer& buffer : executor->parameters()) count += ir::element_count(buffer.type);
  const train::JobCost cost = train::cost_job(programs, job);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto tokens = static_cast<double>(setting.batch * setting.tokens);
  exec::Plan& plan = *plans.microbatch_plans().front();
  const Json::Object families = seconds_by_family(plan);
  const Json result = Json::Object{
      {"device", executor->describe()},
      {"parameters", count},
      {"median_seconds", median(whole)},
      {"update_seconds", median(update)},
      {"tokens_per_second", tokens / median(whole)},
      {"gflops", 6e-9 * static_cast<double>(count) * tokens / median(whole)},
      {"matmul_peak_gflops", train::measure_matmul_peak(*executor, kind(setting.dtype)) / 1e9},
      {"seconds_by_family", families},
      {"gflops_by_family", rates(plan.instance(), families)},
      {"recompute_work_share", cost.recompute.work_share},
      {"planned_bytes", cost.memory.total()},
      {"activation_bytes", cost.memory.activations},
      {"activation_bound_bytes", cost.memory.activations_bound},
      {"resident_bytes", std::int64_t{usage.ru_maxrss} * 1024}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  if (argc < 7 || argc > 9) {
    std::fprintf(stderr,
                 "usage: bench_train_step BATCH TOKENS f32|bf16 DEVICE RUNS CONFIG.json [RANK "
                 "[RECOMPUTE]]\n");
    return 2;
  }
  using namespace parhelion;
  const StepSetting setting{
      std::atoll(argv[1]),
      std::atoll(argv[2]),
      std::string_view(argv[3]) == "f32" ? train::NumberFormat::f32 : train::NumberFormat::bf16,
      argv[4],
      std::atoi(argv[5]),
      argc > 7 ? std::atoll(argv[7]) : 0,
      argc > 8 ? argv[8] : "none"};
  run(setting, parse_json(read_file(argv[6]), argv[6]));
  return 0;
}
