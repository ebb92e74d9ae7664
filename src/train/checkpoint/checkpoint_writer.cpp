#include "train/checkpoint/checkpoint_writer.h"

#include "base/log.h"
#include "train/checkpoint/checkpoint_directory.h"

#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace parhelion::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs a part of a save and takes its time; false, with a warning in the report, if it failed.
template <class Act>
bool attempt_part(SaveReport& report, std::chrono::nanoseconds& time, Act act) {
  const auto begin = Clock::now();
  const std::size_t warnings_before = report.warnings.size();
  try {
    act();
  } catch (const std::exception& error) {
    report.warnings.emplace_back(error.what());
  }
  time = Clock::now() - begin;
  return report.warnings.size() == warnings_before;
}

SaveReport save_checkpoint(const CheckpointStore& store, Snapshot snapshot,
                           std::promise<void> copied) {
  SaveReport report{.step = snapshot.facts.step};
  std::shared_ptr<std::byte> block;
  CheckpointContent content;
  const bool has_copy =
      attempt_part(report, report.snapshot, [&] { content = take(snapshot, block); });
  snapshot.parameters.clear();  // what they held may be kept anew
  snapshot.optimizer.clear();
  copied.set_value();
  if (!has_copy) return report;
  attempt_part(report, report.write, [&] {
    report.written = write_checkpoint(content, store);
    remove_old_checkpoints(store.directory, store.keep);
  });
  return report;
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointStore store) : store_(std::move(store)) {}

CheckpointWriter::~CheckpointWriter() {
  for (const SaveReport& report : close())
    for (const std::string& warning : report.warnings)
      log(LogLevel::warning, "checkpoint of step {}: {}", report.step, warning);
}

void CheckpointWriter::begin(Snapshot snapshot) {
  const auto begin = Clock::now();
  end_save();
  std::promise<void> copied;
  std::future<void> was_copied;
  if (!snapshot.is_apart) was_copied = copied.get_future();
  std::future<SaveReport> report =
      std::async(std::launch::async, save_checkpoint, std::cref(store_), std::move(snapshot),
                 std::move(copied));
  save_ = Save{std::move(was_copied), std::move(report), Clock::now() - begin};
}

void CheckpointWriter::wait_snapshot() {
  if (!save_ || !save_->copied.valid()) return;
  const auto begin = Clock::now();
  save_->copied.wait();
  save_->stall += Clock::now() - begin;
}

void CheckpointWriter::end_save() {
  if (!save_) return;
  SaveReport report = save_->report.get();
  report.stall = save_->stall;
  save_.reset();
  ended_.push_back(std::move(report));
}

std::vector<SaveReport> CheckpointWriter::poll() {
  using namespace std::chrono_literals;
  if (save_ && save_->report.wait_for(0s) == std::future_status::ready) end_save();
  return std::exchange(ended_, {});
}

std::vector<SaveReport> CheckpointWriter::close() {
  end_save();
  return std::exchange(ended_, {});
}

}  // namespace parhelion::train
