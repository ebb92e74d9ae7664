#pragma once

#include "app/http/reply_source.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

namespace parhelion::app {

/// An answer that is computed on a thread of its own, since it may have to wait for the engine: a
/// thread that answers clients never does.
class TaskSource : public ReplySource {
 public:
  /// `task` does not throw.
  TaskSource(std::function<HttpReply()> task, std::shared_ptr<Bell> bell);

  Pull pull(HttpReply& reply) override;
  bool streams() const override { return false; }
  void keep_alive(HttpReply&) override {}
  void cancel(std::string_view) override {}
  bool is_released() override { return is_done_; }

 private:
  HttpReply made_;
  std::atomic<bool> is_done_ = false;
  std::jthread thread_;
};

}  // namespace parhelion::app
