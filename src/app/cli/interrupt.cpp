#include "app/cli/interrupt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <unistd.h>

namespace parhelion::app {
namespace {

constexpr std::array kInterruptSignals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t interrupt_signal = 0;
std::atomic<std::int64_t> interrupted_step = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // a handler reads it

// Called by a handler: no allocation, no locks.
void write_interrupt_notice() {
  std::array<char, 160> line{};
  char* end = line.data();
  const auto append = [&](std::string_view text) { end = std::ranges::copy(text, end).out; };
  append("\nparhelion: finishing step ");
  end = std::to_chars(end, line.data() + line.size(), interrupted_step.load()).ptr;
  append(", then saving; again to stop at once\n");
  const auto size = static_cast<std::size_t>(end - line.data());
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), size);
}

void request_interrupt(int signal);

/// Gives signals that we handle back to the system, which ends the process at the next.
void restore_interrupt_signals() {
  for (const int each : kInterruptSignals) {
    struct sigaction action = {};
    const bool ours =
        ::sigaction(each, nullptr, &action) == 0 && action.sa_handler == request_interrupt;
    if (ours) std::signal(each, SIG_DFL);
  }
}

void request_interrupt(int signal) {
  const int code = errno;
  interrupt_signal = signal;
  restore_interrupt_signals();
  write_interrupt_notice();
  errno = code;
}

}  // namespace

Interrupt::Interrupt() {
  interrupt_signal = 0;
  for (const int each : kInterruptSignals) {
    if (std::signal(each, request_interrupt) == SIG_IGN) std::signal(each, SIG_IGN);
  }
}

Interrupt::~Interrupt() { restore_interrupt_signals(); }

void Interrupt::set_step(std::int64_t step) { interrupted_step = step; }

int Interrupt::signal() const { return interrupt_signal; }

}  // namespace parhelion::app
