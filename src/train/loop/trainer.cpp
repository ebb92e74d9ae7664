#include "train/loop/trainer.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/random.h"
#include "train/checkpoint/executor_tensors.h"
#include "train/data/prefetcher.h"
#include "train/loop/initial_weights.h"
#include "train/loop/job_digest.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace parhelion::train {
namespace {

using Clock = std::chrono::steady_clock;

// Set the streams of seeds apart.
constexpr std::uint64_t kRoundingTag = 0x726f756e64;
constexpr std::uint64_t kDropoutTag = 0x64726f70;

/// The seed of a stream's item `index`.
std::uint64_t stream_seed(const Job& job, std::uint64_t tag, std::int64_t index) {
  const auto words =
      philox(static_cast<std::uint64_t>(job.run.seed), static_cast<std::uint64_t>(index), tag);
  return std::uint64_t{words[0]} << 32 | words[1];
}

Seconds since(Clock::time_point begin) { return Clock::now() - begin; }

std::int64_t real_tokens(const Pack& pack) {
  std::int64_t count = 0;
  for (const Microbatch& microbatch : pack.microbatches) count += microbatch.document_indptr.back();
  return count;
}

/// The first documents of a pack, for a message.
std::string documents_in_words(const Documents& documents, const Pack& pack) {
  constexpr std::size_t kShown = 8;
  std::set<std::int64_t> ids;
  for (const Microbatch& microbatch : pack.microbatches)
    ids.insert(microbatch.document_ids.begin(), microbatch.document_ids.end());
  std::vector<std::string> names;
  for (const std::int64_t id : ids) {
    if (names.size() == kShown) break;
    names.push_back(documents.where(id));
  }
  const std::string more =
      ids.size() > kShown ? fmt::format(" and {} more", ids.size() - kShown) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

std::int64_t count_of(const Json& metrics, std::string_view key) {
  const Json* value = metrics.find(key);
  ensure(value != nullptr, ErrorKind::corrupt, "checkpoint: its metrics have no '{}'", key);
  return value->as_int64(key);
}

std::string lost_steps(std::int64_t saved, std::int64_t done) {
  if (saved == done) return "nothing is lost";
  if (saved + 1 == done) return fmt::format("step {} is lost", done);
  return fmt::format("steps {} to {} are lost", saved + 1, done);
}

}  // namespace

Trainer::Trainer(TrainerParts parts)
    : parts_(std::move(parts)),
      plans_(parts_.programs, parts_.job, parts_.executor),
      stream_(parts_.documents, parts_.job.data, static_cast<std::uint64_t>(parts_.job.run.seed)),
      total_steps_(resolve_steps(parts_.job.schedule, stream_.total_steps())),
      schedule_(build_schedule(parts_.job.schedule, total_steps_)),
      writer_(parts_.store) {}

void Trainer::resume(const TrainCheckpoint& checkpoint) {
  const CheckpointFacts& facts = checkpoint.manifest.facts;
  ensure(facts.job_digest == parts_.job_digest, ErrorKind::invalid,
         "checkpoint {}: is of another job: {}; give this job a directory of its own",
         checkpoint.directory.string(), describe_job_change(facts.job, parts_.job));
  ensure(facts.step <= total_steps_, ErrorKind::invalid,
         "the run is at step {}, the job asks for {}: nothing to do", facts.step,
         counted(total_steps_, "step"));
  const DataPosition position = read_data_position(facts.data_position, "checkpoint");
  stream_.seek(position);
  restore_buffers(saved_optimizer(checkpoint), saved_optimizer_buffers(parts_.programs.step),
                  parts_.executor);
  restore_buffers(saved_parameters(checkpoint), saved_parameter_buffers(parts_.programs.step),
                  parts_.executor);
  position_ = position;
  step_ = facts.step;
  tokens_seen_ = facts.tokens_seen;
  updates_ = count_of(facts.metrics, "updates");
  skipped_ = count_of(facts.metrics, "skipped");
  begun_save_ = saved_step_ = step_;
  last_checkpoint_ = checkpoint.directory.string();
}

RunEnded Trainer::run(const std::function<bool()>& should_stop) {
  if (step_ == 0) initialise_masters(parts_.programs.step, parts_.executor);
  parts_.on_event(RunStarted{.step = step_, .total_steps = total_steps_});
  if (parts_.job.checkpoint.every > 0) parts_.executor.prepare_snapshots(total_bytes(snapshot()));
  {
    Prefetcher packs([this] { return stream_.next(); }, parts_.job.data.prefetch);
    while (step_ < total_steps_ && !should_stop()) {
      if (step_ == 0 && parts_.job.evaluation) evaluate();  // what training begins from
      const auto begin = Clock::now();
      const std::optional<Pack> pack = packs.next();
      ensure(pack.has_value(), ErrorKind::invalid, "data: end after step {}, expected {}", step_,
             counted(total_steps_, "step"));
      run_step(*pack, since(begin));
      if (parts_.job.evaluation && is_due(parts_.job.evaluation->every)) evaluate();
      if (parts_.job.checkpoint.every > 0 && step_ % parts_.job.checkpoint.every == 0) save();
      report_saves(writer_.poll());
    }
  }
  save_end();
  const RunEnded end{.step = step_, .complete = step_ >= total_steps_};
  parts_.on_event(end);
  return end;
}

/// Every so many steps, and after the last one.
bool Trainer::is_due(std::int64_t every) const {
  return step_ % every == 0 || step_ == total_steps_;
}

void Trainer::run_step(const Pack& pack, Seconds data_stall) {
  const auto begin = Clock::now();
  const Job& job = parts_.job;
  std::int64_t drawn = step_ * job.data.microbatches;
  for (const Microbatch& microbatch : pack.microbatches)
    plans_.accumulate(microbatch, stream_seed(job, kDropoutTag, drawn++));
  const auto computed = Clock::now();
  writer_.wait_snapshot();
  const Seconds snapshot_stall = since(computed);
  const double lr = job.optimizer.lr * multiplier(schedule_, step_);
  const StepResult result = plans_.update(
      {.lr = lr, .update = updates_ + 1, .rounding_seed = stream_seed(job, kRoundingTag, step_)});
  check_result(pack, result);
  ++step_;
  if (result.applied) ++updates_;
  position_ = pack.after;
  const std::int64_t tokens = real_tokens(pack);
  tokens_seen_ += tokens;
  parts_.on_event(StepFinished{.step = step_,
                               .total_steps = total_steps_,
                               .loss = static_cast<double>(result.loss),
                               .gradient_norm = static_cast<double>(result.norm),
                               .lr = lr,
                               .counted_tokens = static_cast<double>(result.weight),
                               .tokens = tokens,
                               .tokens_seen = tokens_seen_,
                               .skipped_steps = skipped_,
                               .applied = result.applied,
                               .duration = since(begin) + data_stall,
                               .data_stall = data_stall,
                               .snapshot_stall = snapshot_stall});
}

void Trainer::check_result(const Pack& pack, const StepResult& result) {
  if (result.applied) return;
  const std::string where = documents_in_words(*parts_.documents, pack);
  if (result.weight == 0) {
    parts_.on_event(Warned{fmt::format(
        "step {}: no token of it is learnt, nothing was updated; documents {}", step_ + 1, where)});
    return;
  }
  const std::string what =
      fmt::format("step {}: loss is {}, gradient norm is {}, expected finite numbers; documents {}",
                  step_ + 1, result.loss, result.norm, where);
  ensure(parts_.job.optimizer.on_nonfinite == OnNonfinite::skip, ErrorKind::corrupt,
         "{}; the parameters are those of step {}; the last checkpoint is {}", what, step_,
         last_checkpoint_);
  ++skipped_;
  parts_.on_event(Warned{what + "; the step was skipped"});
}

ScoreResult Trainer::score_held_out() {
  ScoreResult sum;
  if (!parts_.held_out) return sum;
  DataSettings settings = parts_.job.data;
  settings.weights.reset();
  settings.shuffle = false;
  settings.epochs = 1;
  settings.microbatches = 1;
  BatchStream stream(parts_.held_out, settings, 0);
  const std::int64_t most = parts_.job.evaluation->microbatches;
  for (std::int64_t count = 0; most == 0 || count < most; ++count) {
    const std::optional<Pack> pack = stream.next();
    if (!pack) break;
    plans_.score(pack->microbatches.front(), sum);
  }
  return sum;
}

void Trainer::evaluate() {
  const auto begin = Clock::now();
  const ScoreResult sum = score_held_out();
  Evaluated event{
      .step = step_, .loss = sum.weight == 0 ? 0 : sum.loss_sum / sum.weight, .tokens = sum.weight};
  if (generate_) event.texts = generate_();
  event.duration = since(begin);
  parts_.on_event(event);
}

CheckpointFacts Trainer::facts() const {
  return {.step = step_,
          .tokens_seen = tokens_seen_,
          .seed = parts_.job.run.seed,
          .job_digest = parts_.job_digest,
          .job = write_job(parts_.job),
          .data_position = as_json(position_),
          .metrics = Json::Object{{"updates", updates_}, {"skipped", skipped_}}};
}

Snapshot Trainer::snapshot() const {
  const std::vector<ir::Buffer> parameters = saved_parameter_buffers(parts_.programs.step);
  const std::vector<ir::Buffer> optimizer = saved_optimizer_buffers(parts_.programs.step);
  const auto kept = keep_buffers(parts_.executor, parameters, optimizer);
  Snapshot snapshot;
  snapshot.is_apart = kept != nullptr;
  snapshot.parameters = buffer_snapshots(parts_.executor, parameters, kept);
  snapshot.optimizer = buffer_snapshots(parts_.executor, optimizer, kept);
  snapshot.facts = facts();
  snapshot.memory = [this](std::int64_t bytes) { return parts_.executor.snapshot_memory(bytes); };
  return snapshot;
}

void Trainer::save() {
  writer_.begin(snapshot());
  begun_save_ = step_;
}

void Trainer::report_saves(const std::vector<SaveReport>& reports) {
  for (const SaveReport& report : reports) {
    parts_.on_event(Saved{report});
    if (report.written) {
      last_checkpoint_ = report.written->directory.string();
      saved_step_ = report.step;
      save_problem_.clear();
    } else {
      save_problem_ = fmt::format("{}", fmt::join(report.warnings, "; "));
    }
  }
}

/// Saves the step that the run ends with, unless a save of it began before.
void Trainer::save_end() {
  if (begun_save_ != step_) save();
  report_saves(writer_.close());
  ensure(save_problem_.empty(), ErrorKind::exhausted, "step {}: cannot be saved: {}; {}; {}", step_,
         save_problem_, lost_steps(saved_step_, step_),
         last_checkpoint_ == "none" ? "there is no checkpoint"
                                    : "the last checkpoint is " + last_checkpoint_);
}

std::vector<float> Trainer::score(std::span<const std::int32_t> ids) {
  const std::vector<Bucket> buckets = buckets_of(parts_.job.data);
  const auto fits = [&](const Bucket& each) { return each.tokens >= std::ssize(ids); };
  const auto bucket = std::ranges::find_if(buckets, fits);
  ScoreResult sum;
  const std::span<const float> loss =
      plans_.score(one_document(ids, bucket == buckets.end() ? buckets.back() : *bucket), sum);
  std::vector<float> result;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) result.push_back(0.0f - loss[i]);
  return result;
}

}  // namespace parhelion::train
