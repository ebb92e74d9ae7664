#include "serve/engine_thread.h"

#include "base/error.h"

#include <utility>

namespace parhelion::serve {

EngineThread::EngineThread(std::unique_ptr<Engine> engine,
                           std::function<void(std::string_view)> on_failure)
    : engine_(std::move(engine)), on_failure_(std::move(on_failure)) {
  const auto most = static_cast<std::size_t>(engine_->settings().queue_sequences);
  for (auto* list : {&added_, &taken_}) list->reserve(most);
  for (auto* list : {&cancelled_, &taken_cancelled_}) list->reserve(most);
  counts_ = engine_->counts();
  mark_progress();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

EngineThread::~EngineThread() {
  thread_.request_stop();
  thread_.join();
}

Ticket EngineThread::submit(Request request, Sink& sink) {
  const Ticket ticket{++tickets_};
  auto sequences = engine_->sequences_of(std::move(request), ticket, sink);
  const std::lock_guard lock(mutex_);
  ensure(!has_failed_, ErrorKind::device, "engine: has failed and takes no more requests");
  ensure(!is_draining_, ErrorKind::peer, "engine: drains and takes no more requests");
  const std::int64_t most = engine_->settings().queue_sequences;
  ensure(std::ssize(sequences) <= most, ErrorKind::invalid,
         "request: has {} sequences, expected at most the {} that may wait", sequences.size(),
         most);
  ensure(queued_ + std::ssize(sequences) <= most, ErrorKind::exhausted,
         "queue: {} sequences wait, no more than {} may", queued_, most);
  queued_ += std::ssize(sequences);
  added_.push_back(std::move(sequences));
  wake_.notify_one();
  return ticket;
}

void EngineThread::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  wake_.notify_one();
}

void EngineThread::drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

ServerCounts EngineThread::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<StepRecord> EngineThread::recent_steps() const {
  const std::lock_guard lock(mutex_);
  return recorder_.records();
}

double EngineThread::seconds_since_progress() const {
  const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(progress_.load());
  return std::chrono::duration<double>(since).count();
}

void EngineThread::between_steps(const std::function<void(Engine&)>& act) {
  Visit visit{.act = &act};
  std::unique_lock lock(mutex_);
  visited_.wait(lock, [&] { return visit_ == nullptr || has_failed_; });
  ensure(!has_failed_, ErrorKind::device, "engine: has failed");
  visit_ = &visit;
  wake_.notify_one();
  visited_.wait(lock, [&] { return visit.is_done || has_failed_; });
  ensure(visit.is_done, ErrorKind::device, "engine: has failed");
  if (visit.error) std::rethrow_exception(visit.error);
}

void EngineThread::mark_progress() { progress_ = Clock::now().time_since_epoch().count(); }

/// Takes what other threads ask for.
void EngineThread::take_commands() {
  Visit* visit = nullptr;
  bool is_draining = false;
  {
    const std::lock_guard lock(mutex_);
    std::swap(added_, taken_);
    std::swap(cancelled_, taken_cancelled_);
    visit = visit_;
    is_draining = is_draining_;
  }
  for (auto& sequences : taken_) engine_->add(std::move(sequences));
  for (const Ticket ticket : taken_cancelled_) engine_->cancel(ticket);
  taken_.clear();
  taken_cancelled_.clear();
  if (is_draining && engine_->phase() < Phase::drain) engine_->drain();
  if (visit == nullptr) return;
  try {
    (*visit->act)(*engine_);
  } catch (...) {
    visit->error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  visit->is_done = true;
  visit_ = nullptr;
  visited_.notify_all();
}

void EngineThread::serve_until(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_commands();
    const auto begin = Clock::now();
    const bool did_something = engine_->step();
    mark_progress();
    const ServerCounts counts = engine_->counts();
    std::unique_lock lock(mutex_);
    if (did_something) recorder_.note(counts_, counts, begin);
    counts_ = counts;
    queued_ = counts.waiting;
    for (const auto& sequences : added_) queued_ += std::ssize(sequences);
    if (did_something) continue;
    // Wakes now and then, so that a thread that is stuck can be told from one that has no work.
    wake_.wait_for(lock, stop, std::chrono::seconds(1),
                   [&] { return !added_.empty() || !cancelled_.empty() || visit_ != nullptr; });
  }
}

void EngineThread::end(std::string_view why) {
  {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    for (auto& sequences : added_) taken_.push_back(std::move(sequences));
    added_.clear();
    visited_.notify_all();
  }
  for (auto& sequences : taken_) engine_->add(std::move(sequences));
  taken_.clear();
  engine_->end_all(why.empty() ? FinishReason::cancelled : FinishReason::failed);
  const std::lock_guard lock(mutex_);
  counts_ = engine_->counts();
}

void EngineThread::run(const std::stop_token& stop) {
  std::string why;
  try {
    serve_until(stop);
  } catch (const std::exception& error) {
    why = error.what();
  }
  end(why);
  if (!why.empty() && on_failure_) on_failure_(why);
}

}  // namespace parhelion::serve
