#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace parhelion::app {

inline constexpr int kOverrunExit = 70;  ///< of a process that could not stop in time

/// One stage of stopping. If it lives longer than its limit, that is logged and the process ends
/// at once with kOverrunExit: a hang is never endless.
class StageLimit {
 public:
  StageLimit(std::string stage, std::chrono::duration<double> limit);
  ~StageLimit();
  StageLimit(const StageLimit&) = delete;
  StageLimit& operator=(const StageLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread watcher_;
};

}  // namespace parhelion::app
