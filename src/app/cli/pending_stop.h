#pragma once

#include <csignal>

namespace parhelion::app {

/// While one lives, SIGINT, SIGTERM and SIGHUP wait instead of ending the process, so that what is
/// half done can be taken back; who ends before it has its signal then. Signals that the process
/// ignores stay ignored.
///
/// Threads: those made while it lives wait too.
class PendingStop {
 public:
  PendingStop();
  ~PendingStop();
  PendingStop(const PendingStop&) = delete;
  PendingStop& operator=(const PendingStop&) = delete;

  /// Whether one of them waits.
  bool has_come() const;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace parhelion::app
