#include "app/http/background_answers.h"

#include "base/error.h"
#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace parhelion::app {
namespace {

using BackgroundClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{1000};

void cancel_answer(ReplySource& source, std::string_view reason, bool& is_done) {
  if (std::exchange(is_done, true)) return;
  source.cancel(reason);
}

}  // namespace

/// Wakes the thread through a descriptor of the kernel, which neither blocks nor takes memory.
class BackgroundAnswers::WakingBell : public Bell {
 public:
  WakingBell() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ensure(descriptor_ >= 0, ErrorKind::exhausted, "eventfd: none is left");
  }
  ~WakingBell() override { ::close(descriptor_); }
  WakingBell(const WakingBell&) = delete;
  WakingBell& operator=(const WakingBell&) = delete;

  void ring() noexcept override {
    const std::uint64_t one = 1;
    if (has_rung_.exchange(true)) return;
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof(one));
  }
  /// Returns once it has rung, or after `time`.
  void wait(std::chrono::milliseconds time) {
    pollfd awaited{.fd = descriptor_, .events = POLLIN, .revents = 0};
    ::poll(&awaited, 1, static_cast<int>(time.count()));
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(descriptor_, &count, sizeof(count));
    has_rung_ = false;  // what rings before is seen by who looks behind
  }

 private:
  int descriptor_;
  std::atomic<bool> has_rung_ = false;
};

BackgroundAnswers::BackgroundAnswers() : bell_(std::make_shared<WakingBell>()) {}

BackgroundAnswers::~BackgroundAnswers() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  bell_->ring();
}

std::shared_ptr<Bell> BackgroundAnswers::bell() const { return bell_; }

void BackgroundAnswers::add(std::string id, std::unique_ptr<ReplySource> source) {
  const std::lock_guard lock(mutex_);
  arrived_.push_back({.id = std::move(id), .source = std::move(source)});
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  bell_->ring();
}

void BackgroundAnswers::cancel(std::string_view id) {
  const std::lock_guard lock(mutex_);
  cancelled_.emplace_back(id);
  bell_->ring();
}

void BackgroundAnswers::run(const std::stop_token& stop) {
  for (bool stops = false; !stops || !answers_.empty();) {
    wait();
    stops = stop.stop_requested();
    take_news(stops);
    std::erase_if(answers_, advance);
  }
}

/// Waits for news, at most until the first answer's time is over.
void BackgroundAnswers::wait() {
  auto end = BackgroundClock::now() + kLongestWait;
  for (const Answer& each : answers_) {
    if (!each.is_done) end = std::min(end, each.source->deadline());
  }
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(end - BackgroundClock::now());
  bell_->wait(std::max(time, std::chrono::milliseconds(0)));
}

void BackgroundAnswers::take_news(bool stops) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(arrived_, std::back_inserter(answers_));
  arrived_.clear();
  for (Answer& each : answers_) {
    const bool is_asked = std::ranges::find(cancelled_, each.id) != cancelled_.end();
    if (stops || is_asked) cancel_answer(*each.source, stops ? "aborted" : "asked", each.is_done);
  }
  cancelled_.clear();
}

/// Takes what came of an answer; whether it can go. An answer that throws is cancelled, the others
/// go on.
bool BackgroundAnswers::advance(Answer& answer) {
  try {
    HttpReply dropped;
    if (!answer.is_done) answer.is_done = answer.source->pull(dropped) == Pull::complete;
  } catch (const std::exception& error) {
    log(LogLevel::error, "response {}: {}", answer.id, error.what());
    cancel_answer(*answer.source, "error", answer.is_done);
  }
  return answer.is_done && answer.source->is_released();
}

}  // namespace parhelion::app
