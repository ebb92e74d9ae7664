#pragma once

namespace parhelion::app {

/// While one lives, the first SIGINT or SIGTERM is a request and the second ends the process.
///
/// Threads: one object at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool is_requested() const;
};

}  // namespace parhelion::app
