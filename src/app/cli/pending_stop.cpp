#include "app/cli/pending_stop.h"

#include <initializer_list>

namespace parhelion::app {

PendingStop::PendingStop() {
  ::sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!is_ignored) ::sigaddset(&set_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

PendingStop::~PendingStop() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool PendingStop::has_come() const {
  sigset_t pending;
  ::sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (::sigismember(&pending, signal) == 1 && ::sigismember(&set_, signal) == 1) return true;
  return false;
}

}  // namespace parhelion::app
