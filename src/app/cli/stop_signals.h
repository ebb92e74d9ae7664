#pragma once

#include <chrono>
#include <csignal>
#include <ctime>

namespace parhelion::app {

/// SIGINT and SIGTERM, kept from all threads that are made while it lives; who waits for them gets
/// them. Once one has come they are kept until the process ends: what comes late, while parts are
/// taken down, does not make a good end a bad one.
class StopSignals {
 public:
  StopSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~StopSignals() {
    if (!has_come_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  void wait() {
    int signal = 0;
    ::sigwait(&set_, &signal);
    has_come_ = true;
  }
  /// Whether one comes within a moment.
  bool comes_within(std::chrono::milliseconds time) {
    const timespec limit{.tv_sec = 0, .tv_nsec = time.count() * 1'000'000};
    const bool comes = ::sigtimedwait(&set_, nullptr, &limit) > 0;
    has_come_ |= comes;
    return comes;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool has_come_ = false;
};

}  // namespace parhelion::app
