#include "app/cli/interrupt.h"

#include <csignal>

namespace parhelion::app {
namespace {

volatile std::sig_atomic_t interrupt_requested = 0;

void request_interrupt(int signal) {
  interrupt_requested = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  interrupt_requested = 0;
  std::signal(SIGINT, request_interrupt);
  std::signal(SIGTERM, request_interrupt);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::is_requested() const { return interrupt_requested != 0; }

}  // namespace parhelion::app
