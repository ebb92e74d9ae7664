#include "train/config/check_job.h"

#include "base/problems.h"
#include "train/config/byte_size.h"
#include "train/config/name_pattern.h"

#include <algorithm>

namespace parhelion::train {
namespace {

void expect_at_least(std::int64_t minimum, std::string_view key, std::int64_t value,
                     Problems& problems) {
  problems.expect(value >= minimum, "{} is {}, expected at least {}", key, value, minimum);
}

void expect_range(bool is_inside, std::string_view key, double value, std::string_view range,
                  Problems& problems) {
  problems.expect(is_inside, "{} is {}, expected {}", key, value, range);
}

void expect_positive(std::string_view key, double value, Problems& problems) {
  expect_range(value > 0, key, value, "a number above 0", problems);
}

void expect_not_negative(std::string_view key, double value, Problems& problems) {
  expect_range(value >= 0, key, value, "a number of at least 0", problems);
}

/// In [0, 1), as decays and probabilities are.
void expect_share(std::string_view key, double value, Problems& problems) {
  expect_range(value >= 0 && value < 1, key, value, "a number in [0, 1)", problems);
}

void check_run(const RunSettings& run, Problems& problems) {
  problems.expect(!run.directory.empty(), "run.directory is empty, expected a path");
  expect_at_least(0, "run.seed", run.seed, problems);
  expect_at_least(0, "run.threads", run.threads, problems);
}

void check_recompute(const ModelSettings& model, Problems& problems) {
  const Recompute recompute = model.recompute.value_or(Recompute::none);
  problems.expect(recompute != Recompute::automatic || model.memory_budget.has_value(),
                  "model.recompute is auto, expected model.memory_budget");
  if (!model.memory_budget) return;
  problems.expect(recompute == Recompute::automatic,
                  "model.memory_budget is {}, which recompute {} does not use",
                  *model.memory_budget, choice_name(recompute));
  problems.expect(parse_byte_size(*model.memory_budget).has_value(),
                  "model.memory_budget is '{}', expected bytes such as 8GiB or 512MiB",
                  *model.memory_budget);
}

void check_model(const ModelSettings& model, Problems& problems) {
  check_recompute(model, problems);
  if (model.path && model.config) {
    problems.expect(false, "model.path is '{}' and model.config is '{}', expected one of them",
                    model.path->string(), model.config->string());
  }
  problems.expect(model.path || model.config,
                  "expected model.path, to begin from its weights, or model.config, to begin with "
                  "random ones");
  if (model.config && !model.path) {
    problems.expect(model.tokenizer.has_value(), "model.config is '{}', expected model.tokenizer",
                    model.config->string());
  }
  if (model.path && !model.config && model.tokenizer) {
    problems.expect(false, "model.tokenizer is '{}', but model.path '{}' has one of its own",
                    model.tokenizer->string(), model.path->string());
  }
}

void check_lora(const LoraSettings& lora, const ModelSettings& model, Problems& problems) {
  problems.expect(!model.config || model.path.has_value(),
                  "lora is given with model.config, expected model.path: the weights under an "
                  "adapter are not saved, so they have to lie somewhere");
  expect_at_least(1, "lora.rank", lora.rank, problems);
  expect_positive("lora.alpha", lora.alpha, problems);
  expect_share("lora.dropout", lora.dropout, problems);
}

void check_buckets(const DataSettings& data, Problems& problems) {
  const auto& buckets = data.buckets;
  const auto is_rising = [](std::int64_t a, std::int64_t b) { return b <= a; };
  problems.expect(std::adjacent_find(buckets.begin(), buckets.end(), is_rising) == buckets.end(),
                  "data.buckets is [{}], expected it ascending", fmt::join(buckets, ", "));
  problems.expect(buckets.back() == data.microbatch_tokens,
                  "data.buckets ends with {}, expected data.microbatch_tokens, {}", buckets.back(),
                  data.microbatch_tokens);
  expect_at_least(1, "data.buckets.0", buckets.front(), problems);
}

void check_weights(const std::vector<double>& weights, std::size_t files, Problems& problems) {
  problems.expect(weights.size() == files, "data.weights has {} numbers for {} data.files",
                  weights.size(), files);
  for (std::size_t i = 0; i < weights.size(); ++i)
    expect_not_negative(fmt::format("data.weights.{}", i), weights[i], problems);
}

void check_data(const DataSettings& data, Problems& problems) {
  problems.expect(!data.files.empty(), "data.files is empty, expected one file or more");
  if (data.weights) check_weights(*data.weights, data.files.size(), problems);
  expect_at_least(2, "data.sequence_tokens", data.sequence_tokens, problems);
  problems.expect(data.microbatch_tokens >= data.sequence_tokens,
                  "data.microbatch_tokens is {}, expected at least data.sequence_tokens, {}",
                  data.microbatch_tokens, data.sequence_tokens);
  check_buckets(data, problems);
  expect_at_least(1, "data.microbatches", data.microbatches, problems);
  expect_at_least(0, "data.epochs", data.epochs, problems);
  expect_at_least(0, "data.prefetch", data.prefetch, problems);
}

void check_evaluation(const EvaluationSettings& evaluation, Problems& problems) {
  expect_at_least(1, "evaluation.every", evaluation.every, problems);
  expect_at_least(0, "evaluation.microbatches", evaluation.microbatches, problems);
  expect_at_least(1, "evaluation.max_tokens", evaluation.max_tokens, problems);
  problems.expect(
      !evaluation.files.empty() || !evaluation.prompts.empty() || !evaluation.chats.empty(),
      "evaluation has neither files nor prompts nor chats");
}

void check_groups(const OptimizerSettings& optimizer, Problems& problems) {
  std::int64_t index = 0;
  for (const OptimizerGroup& group : optimizer.groups) {
    const std::string key = fmt::format("optimizer.groups.{}", index++);
    expect_not_negative(key + ".lr_scale", group.lr_scale, problems);
    if (group.weight_decay) {
      expect_not_negative(key + ".weight_decay", *group.weight_decay, problems);
    }
  }
}

/// Keys of one kind of optimizer, at another, would have no effect.
void check_unused(const OptimizerSettings& optimizer, Problems& problems) {
  const OptimizerSettings defaults;
  const auto expect_default = [&](std::string_view key, auto value, auto unused) {
    problems.expect(value == unused, "optimizer.{} is {}, which kind {} does not use", key, value,
                    choice_name(optimizer.kind));
  };
  if (optimizer.kind == OptimizerKind::sgd) {
    expect_default("beta1", optimizer.beta1, defaults.beta1);
    expect_default("beta2", optimizer.beta2, defaults.beta2);
    expect_default("eps", optimizer.eps, defaults.eps);
    expect_default("amsgrad", optimizer.amsgrad, defaults.amsgrad);
  } else {
    expect_default("momentum", optimizer.momentum, defaults.momentum);
    expect_default("dampening", optimizer.dampening, defaults.dampening);
    expect_default("nesterov", optimizer.nesterov, defaults.nesterov);
  }
}

void check_optimizer(const OptimizerSettings& optimizer, Problems& problems) {
  expect_positive("optimizer.lr", optimizer.lr, problems);
  expect_share("optimizer.beta1", optimizer.beta1, problems);
  expect_share("optimizer.beta2", optimizer.beta2, problems);
  expect_positive("optimizer.eps", optimizer.eps, problems);
  expect_not_negative("optimizer.weight_decay", optimizer.weight_decay, problems);
  expect_share("optimizer.momentum", optimizer.momentum, problems);
  expect_range(optimizer.dampening >= 0 && optimizer.dampening <= 1, "optimizer.dampening",
               optimizer.dampening, "a number in [0, 1]", problems);
  problems.expect(!optimizer.nesterov || (optimizer.momentum > 0 && optimizer.dampening == 0),
                  "optimizer.nesterov is true with momentum {} and dampening {}, expected momentum "
                  "above 0 and dampening 0",
                  optimizer.momentum, optimizer.dampening);
  expect_not_negative("optimizer.max_norm", optimizer.max_norm, problems);
  check_unused(optimizer, problems);
  check_groups(optimizer, problems);
}

void check_phase(const PhaseSettings& phase, const std::string& key, Problems& problems) {
  const int lengths = (phase.steps ? 1 : 0) + (phase.until ? 1 : 0) + (phase.rest ? 1 : 0);
  problems.expect(lengths == 1, "{} has {} of steps, until and rest, expected one", key, lengths);
  if (phase.steps) expect_at_least(1, key + ".steps", *phase.steps, problems);
  if (phase.until) {
    expect_range(*phase.until >= 0 && *phase.until <= 1, key + ".until", *phase.until,
                 "a number in [0, 1]", problems);
  }
  expect_not_negative(key + ".target", phase.target, problems);
  expect_positive(key + ".power", phase.power, problems);
  problems.expect(phase.curve == Curve::poly || phase.power == PhaseSettings{}.power,
                  "{}.power is {}, which curve {} does not use", key, phase.power,
                  choice_name(phase.curve));
}

void check_schedule(const ScheduleSettings& schedule, Problems& problems) {
  expect_at_least(0, "schedule.steps", schedule.steps, problems);
  expect_not_negative("schedule.initial", schedule.initial, problems);
  const auto count = static_cast<std::int64_t>(schedule.phases.size());
  std::int64_t index = 0;
  for (const PhaseSettings& phase : schedule.phases) {
    const std::string key = fmt::format("schedule.phases.{}", index++);
    check_phase(phase, key, problems);
    problems.expect(!phase.rest || index == count, "{} takes the rest, expected no phase behind it",
                    key);
  }
}

void check_patterns(const Job& job, std::string_view where) {
  if (job.lora) NamePattern(job.lora->targets, fmt::format("{}: lora.targets", where));
  std::int64_t index = 0;
  for (const OptimizerGroup& group : job.optimizer.groups) {
    NamePattern(group.match, fmt::format("{}: optimizer.groups.{}.match", where, index++));
  }
}

}  // namespace

void check_job(const Job& job, std::string_view where) {
  Problems problems;
  check_run(job.run, problems);
  check_model(job.model, problems);
  if (job.lora) check_lora(*job.lora, job.model, problems);
  check_data(job.data, problems);
  if (job.evaluation) check_evaluation(*job.evaluation, problems);
  check_optimizer(job.optimizer, problems);
  problems.expect(!job.optimizer.master_weights || job.model.dtype == NumberFormat::bf16,
                  "optimizer.master_weights is true, which model.dtype {} does not use",
                  choice_name(job.model.dtype));
  check_schedule(job.schedule, problems);
  problems.expect(job.data.epochs != 0 || job.schedule.steps != 0,
                  "data.epochs and schedule.steps are both 0, expected an end");
  expect_at_least(0, "checkpoint.every", job.checkpoint.every, problems);
  expect_at_least(0, "checkpoint.keep", job.checkpoint.keep, problems);
  expect_at_least(1, "log.every", job.log.every, problems);
  problems.raise(where);
  check_patterns(job, where);
}

}  // namespace parhelion::train
