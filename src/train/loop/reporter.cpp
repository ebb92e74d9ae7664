#include "train/loop/reporter.h"

#include "base/counted.h"
#include "base/file.h"
#include "train/track/duration.h"
#include "train/track/jsonl_tracker.h"
#include "train/track/loss_curve.h"
#include "train/track/sparkline.h"
#include "train/track/tensorboard_tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace parhelion::train {
namespace {

std::chrono::seconds time_of_day() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  ::localtime_r(&now, &local);
  return std::chrono::hours(local.tm_hour) + std::chrono::minutes(local.tm_min) +
         std::chrono::seconds(local.tm_sec);
}

std::string clock_text() {
  const auto now = time_of_day().count();
  return fmt::format("{:02}:{:02}:{:02}", now / 3600, now / 60 % 60, now % 60);
}

/// A text on one line, whatever is in it.
std::string quoted(const std::string& text) { return write_json(Json(text)); }

}  // namespace

Reporter::Reporter(ReporterOptions options)
    : options_(std::move(options)), log_(options_.paths.log) {}

void Reporter::handle(const Event& event) {
  std::visit([this](const auto& each) { on(each); }, event);
}

void Reporter::on(const RunStarted& event) {
  const std::int64_t first = event.step == 0 ? 0 : event.step + 1;  // 0: the first evaluation
  trackers_.push_back(open_jsonl_tracker(options_.paths.metrics, first));
  if (options_.log.tensorboard)
    trackers_.push_back(open_tensorboard_tracker(options_.paths.tensorboard, options_.job, first,
                                                 std::chrono::system_clock::now()));
  say(event.step == 0 ? "training for " + counted(event.total_steps, "step")
                      : fmt::format("going on after step {} of {}", event.step, event.total_steps));
}

Progress Reporter::progress_of(const StepFinished& event) {
  const double seconds = event.duration.count();
  seconds_per_step_ = seconds_per_step_ ? 0.9 * *seconds_per_step_ + 0.1 * seconds : seconds;
  Progress progress{.step = event.step,
                    .steps = event.total_steps,
                    .loss = event.loss,
                    .tokens_per_second = static_cast<double>(event.tokens) / seconds,
                    .matmul_share = {},
                    .memory_bytes = options_.memory_bytes(),
                    .remaining = {}};
  if (options_.matmul_peak > 0) {
    const double rate = progress.tokens_per_second * options_.flops_per_token;
    options_.matmul_peak = std::max(options_.matmul_peak, rate);  // it was measured too low
    progress.matmul_share = rate / options_.matmul_peak;
  }
  progress.remaining =
      Seconds(*seconds_per_step_ * static_cast<double>(event.total_steps - event.step));
  return progress;
}

void Reporter::on(const StepFinished& event) {
  const Progress progress = progress_of(event);
  options_.show_progress(live_line(progress, options_.width));
  const bool is_due = event.step % options_.log.every == 0 || event.step == event.total_steps;
  if (!is_due) return;
  log_.append(log_line(progress, time_of_day()) + "\n");
  record(event.step, {{"loss", event.loss},
                      {"gradient_norm", event.gradient_norm},
                      {"lr", event.lr},
                      {"tokens", static_cast<double>(event.tokens)},
                      {"counted_tokens", event.counted_tokens},
                      {"tokens_seen", static_cast<double>(event.tokens_seen)},
                      {"tokens_per_second", progress.tokens_per_second},
                      {"skipped_steps", static_cast<double>(event.skipped_steps)},
                      {"seconds", event.duration.count()},
                      {"data_stall_seconds", event.data_stall.count()},
                      {"snapshot_stall_seconds", event.snapshot_stall.count()}});
}

void Reporter::on(const Evaluated& event) {
  if (event.tokens > 0) {
    record(event.step, {{"evaluation/loss", event.loss}});
    say(fmt::format("step {}: evaluation loss {:.4f} over {}, {}", event.step, event.loss,
                    counted(static_cast<std::int64_t>(event.tokens), "token"),
                    duration_text(event.duration)));
  }
  for (const Generated& each : event.texts)
    say(fmt::format("step {}: {} -> {}", event.step, quoted(each.prompt), quoted(each.text)));
}

void Reporter::on(const Saved& event) {
  for (const std::string& warning : event.report.warnings) on(Warned{warning});
  if (!event.report.written) return;
  say(fmt::format("saved {}, {:.1f} MiB in {}, held training up for {}",
                  event.report.written->directory.string(),
                  static_cast<double>(event.report.written->bytes) / 0x1p20,
                  duration_text(event.report.snapshot + event.report.write),
                  duration_text(event.report.stall)));
}

void Reporter::on(const Warned& event) { say("warning: " + event.text); }

void Reporter::on(const RunEnded& event) {
  draw_loss();
  say(event.complete
          ? fmt::format("done after step {}", event.step)
          : fmt::format("stopped after step {} and saved; give the same command to go on",
                        event.step));
}

void Reporter::draw_loss() {
  if (!std::filesystem::exists(options_.paths.metrics)) return;
  const LossCurve curve = read_loss_curve(options_.paths.metrics);
  AtomicFile file(options_.paths.loss_curve);
  file.write(loss_curve_svg(curve, options_.paths.directory.filename().string()));
  file.commit();
  constexpr std::int64_t kBars = 60;
  say(fmt::format("loss {}", loss_sparkline(curve.training, kBars)));
  say("curve in " + options_.paths.loss_curve.string());
}

void Reporter::record(std::int64_t step, std::vector<Metric> metrics) {
  const StepRecord record{
      .step = step, .time = std::chrono::system_clock::now(), .metrics = std::move(metrics)};
  for (const auto& tracker : trackers_) tracker->record(record);
}

void Reporter::say(const std::string& text) {
  write_to_log(text);
  options_.print_line(text);
}

void Reporter::write_to_log(std::string_view text) {
  log_.append(fmt::format("{}  {}\n", clock_text(), text));
}

}  // namespace parhelion::train
