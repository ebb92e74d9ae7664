#pragma once

#include "app/http/reply_source.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace parhelion::app {

/// Works on answers that no connection waits for, on a thread of its own. What they write is
/// dropped.
///
/// Threads: any.
class BackgroundAnswers {
 public:
  BackgroundAnswers();
  /// Cancels what still runs and waits until it is released.
  ~BackgroundAnswers();
  BackgroundAnswers(const BackgroundAnswers&) = delete;
  BackgroundAnswers& operator=(const BackgroundAnswers&) = delete;

  /// What sources that are added have to ring.
  std::shared_ptr<Bell> bell() const;
  /// Pulls `source` until it is complete.
  void add(std::string id, std::unique_ptr<ReplySource> source);
  /// Cancels the answer of this id soon; nothing if it is not at work.
  void cancel(std::string_view id);

 private:
  class WakingBell;
  struct Answer {
    std::string id;
    std::unique_ptr<ReplySource> source;
    bool is_done = false;
  };
  void run(const std::stop_token& stop);
  void wait();
  void take_news(bool stops);
  static bool advance(Answer& answer);

  std::shared_ptr<WakingBell> bell_;
  std::mutex mutex_;
  std::vector<Answer> arrived_;         // guarded by mutex_
  std::vector<std::string> cancelled_;  // guarded by mutex_
  std::vector<Answer> answers_;         // of the thread
  std::jthread thread_;                 // begins with the first answer, guarded by mutex_
};

}  // namespace parhelion::app
