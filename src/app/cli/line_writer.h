#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace parhelion::app {

/// Writes lines to a descriptor by a thread of its own, so that nobody waits for who reads them.
/// Lines that find no room are dropped, and a line tells how many once there is room again.
///
/// Threads: any.
class LineWriter {
 public:
  /// `tell_dropped` makes the line about dropped ones. `most_bytes`: of the lines that wait.
  /// SIGPIPE should be ignored: what goes to a closed pipe is dropped.
  LineWriter(int descriptor, std::function<std::string(std::int64_t)> tell_dropped,
             std::size_t most_bytes = std::size_t{4} << 20);
  /// Waits a second at most for what is left.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// `line` has no end of line.
  void write(std::string_view line);
  std::int64_t dropped_lines() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may be stuck in a write for good
};

}  // namespace parhelion::app
