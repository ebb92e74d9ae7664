#pragma once

#include "app/http/choice_reader.h"
#include "app/http/event_sink.h"
#include "app/http/submission.h"
#include "base/error.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::app {

/// A prompt and what its choices begin with.
struct PlannedPrompt {
  serve::Request request = {};
  ChoiceEcho echo = {};
};

/// What a request says of its answer as a whole.
struct AnswerOptions {
  std::optional<std::chrono::duration<double>> time = {};  ///< after which it is given up
  bool shows_sampling = false;                             ///< the values that are sampled with
};

/// What to generate for one answer: prompts of equally many sequences. Choice i of prompt p is
/// number p * sequences + i.
struct GenerationPlan {
  std::vector<PlannedPrompt> prompts = {};
  ChoiceOptions choices = {};
  AnswerOptions answer = {};
  std::string request_id = {};
  std::int64_t joins_from = 64;  ///< tokens that wait, from which on text is joined
};

/// The requests of one answer, and what comes of them.
///
/// Threads: the connection's.
class Generation {
 public:
  /// Hands the requests to the server.
  ///
  /// Errors: as serve::Server::submit, of the first; those of a later one are told by `error`.
  Generation(const ServedModel& model, ActiveTickets& tickets, GenerationPlan plan,
             const std::shared_ptr<Bell>& bell);
  /// Appends what came since. Where much waits, because the client reads slowly, text is joined.
  void read(std::vector<Delta>& deltas);
  /// Whether every choice has ended and was read.
  bool is_complete() const { return finished_ == choices_; }
  /// Whether nobody else knows of it.
  bool is_released();
  void cancel();
  bool has_overflowed() const;
  /// Of all choices that have ended; of all there are once it is released.
  const Usage& usage() const { return usage_; }
  double queue_seconds() const { return queue_seconds_; }
  std::int64_t malformed_calls() const { return malformed_calls_; }
  /// What kept a later prompt from being taken; then all others are cancelled.
  const std::unique_ptr<Error>& error() const { return error_; }

 private:
  struct Part {
    Submission<EventSink> taken;
    std::vector<ChoiceReader> readers;
    std::int64_t finishes_read = 0;
    bool has_usage = false;  // the prompt counts once
  };
  void submit(const ServedModel& model, PlannedPrompt prompt, const ChoiceOptions& options,
              const std::shared_ptr<Bell>& bell);
  void read(Part& part, std::vector<Delta>& deltas);
  void account(Part& part, const serve::FinishEvent& finish);

  ActiveTickets& tickets_;
  std::vector<Part> parts_;  // that the server has
  std::int64_t joins_from_;
  std::string request_id_;
  std::int64_t choices_ = 0;
  std::int64_t finished_ = 0;
  Usage usage_;
  double queue_seconds_ = 0;
  std::int64_t malformed_calls_ = 0;
  std::unique_ptr<Error> error_;
};

}  // namespace parhelion::app
