#include "app/cli/stage_limit.h"

#include "base/log.h"

#include <cstdlib>

namespace parhelion::app {

StageLimit::StageLimit(std::string stage, std::chrono::duration<double> limit) {
  watcher_ = std::jthread([this, stage = std::move(stage), limit](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, stop, limit, [] { return false; });
    if (stop.stop_requested()) return;
    log(LogLevel::error, "stage '{}' of stopping takes longer than {:.0f} s: the process ends",
        stage, limit.count());
    std::_Exit(kOverrunExit);
  });
}

StageLimit::~StageLimit() {
  watcher_.request_stop();
  watcher_.join();
}

}  // namespace parhelion::app
