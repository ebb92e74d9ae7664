#pragma once

#include "app/http/reply_source.h"
#include "serve/request.h"

#include <atomic>
#include <memory>
#include <vector>

namespace parhelion::app {

/// Takes the events of one request on the engine's thread and gives them to a connection's. All
/// memory is taken beforehand; tokens beyond it are dropped, and that is told.
///
/// Threads: `take` is the engine's, all else the reader's.
class EventSink : public serve::Sink {
 public:
  /// `tokens`: how many events may wait; `top_tokens`: how many likely ones each may have.
  EventSink(std::int64_t sequences, std::int64_t tokens, std::int64_t top_tokens,
            std::shared_ptr<Bell> bell);

  void take(const serve::TokenEvent& event) override;
  void take(const serve::FinishEvent& event) override;

  /// The next token, false if none waits.
  bool next(serve::TokenEvent& event);
  /// How many sequences have finished; read it before the tokens, so that none of theirs is missed.
  std::int64_t finished() const { return finished_; }
  /// The finish number `index`, below finished().
  const serve::FinishEvent& finish(std::int64_t index) const {
    return finishes_[static_cast<std::size_t>(index)];
  }
  std::int64_t waiting() const { return tail_ - head_; }
  bool has_overflowed() const { return has_overflowed_; }
  /// Whether the engine has let go: true soon after the last finish is told.
  bool is_released() const { return is_released_; }

 private:
  struct Slot {
    std::int32_t id = 0;
    float log_probability = 0;
    std::int16_t sequence = 0;
    std::int16_t top_count = 0;
    bool in_prompt = false;
  };
  std::size_t slot(std::int64_t position) const {
    return static_cast<std::size_t>(position) % slots_.size();
  }

  std::vector<Slot> slots_;
  std::vector<serve::ScoredToken> top_;  // top_tokens_ for each slot
  std::size_t top_tokens_;
  std::vector<serve::FinishEvent> finishes_;
  std::shared_ptr<Bell> bell_;
  std::atomic<std::int64_t> head_ = 0;  // next to read
  std::atomic<std::int64_t> tail_ = 0;  // next to write
  std::atomic<std::int64_t> finished_ = 0;
  std::atomic<bool> has_overflowed_ = false;
  std::atomic<bool> is_released_ = false;
};

}  // namespace parhelion::app
