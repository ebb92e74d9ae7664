#pragma once

#include "app/http/api_error.h"
#include "app/http/delta.h"

#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// A piece of a choice: text, reasoning, or a call with its arguments.
struct AnswerPart {
  DeltaKind kind = DeltaKind::text;
  std::string text = {};  ///< arguments of a call
  std::string tool_id = {};
  std::string tool_name = {};
};

/// A choice in whole.
struct AnswerChoice {
  std::vector<AnswerPart> parts = {};
  std::vector<TokenLog> logs = {};
  std::vector<std::int32_t> ids = {};
  ChoiceEnd end = ChoiceEnd::stop;
  std::string stop_string = {};

  /// All text of one kind.
  std::string joined(DeltaKind kind) const;
};

/// Folds deltas into whole choices: the one way from a stream to an answer that is not streamed.
class AnswerReducer {
 public:
  void take(const Delta& delta);
  const std::vector<AnswerChoice>& choices() const { return choices_; }

 private:
  std::vector<AnswerChoice> choices_;
};

/// How one protocol writes an answer.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  /// Appends what a stream begins with.
  virtual void begin(std::string& out) = 0;
  /// Appends what the stream tells of a delta.
  virtual void write(const Delta& delta, std::string& out) = 0;
  /// Appends what the stream ends with.
  virtual void end(const Usage& usage, std::string& out) = 0;
  /// Appends the end of a stream that has failed.
  virtual void fail(const ApiError& error, std::string& out) = 0;
  /// Hears that the first of the answer has come, streamed or not.
  virtual void note_begin() {}
  /// Hears of a failure that is told in place of the answer, of which nothing was written.
  virtual void note_failure(const ApiError&) {}
  /// What keeps a silent stream alive.
  virtual std::string_view keep_alive() const { return ": keep-alive\n\n"; }
  /// The body of an answer that is not streamed.
  virtual std::string whole(const std::vector<AnswerChoice>& choices, const Usage& usage) = 0;
};

}  // namespace parhelion::app
