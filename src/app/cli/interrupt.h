#pragma once

#include <cstdint>

namespace parhelion::app {

/// While one lives, the first SIGINT, SIGTERM or SIGHUP is a request to stop behind the step at
/// work, which a line on standard error confirms at once, and the second ends the process. Those
/// that the process ignores, as SIGHUP under `nohup`, stay ignored.
///
/// Threads: one object at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Names the step that a request would wait for.
  void set_step(std::int64_t step);
  /// The signal that asked, 0 if none did.
  int signal() const;
};

}  // namespace parhelion::app
