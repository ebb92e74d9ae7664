#pragma once

#include "app/http/delta.h"
#include "app/http/served_model.h"
#include "text/reply/reply_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// How the tokens of a choice are read and shown.
struct ChoiceOptions {
  bool logs = false;  ///< log-probabilities beside the text
  bool ids = false;   ///< token ids beside the text
  text::ReplyOptions reply = {};
  bool at_most_one_call = false;
  std::string_view call_prefix = "call_";  ///< of the ids of calls
};

/// What a choice begins with, of its prompt.
struct ChoiceEcho {
  std::string text = {};
  std::optional<std::int32_t> first_id =
      {};  ///< the prompt's, where its log-probabilities are shown
};

/// Turns the tokens of one choice into deltas.
class ChoiceReader {
 public:
  ChoiceReader(const ServedModel& model, std::int64_t choice, const ChoiceOptions& options,
               ChoiceEcho echo);

  /// Appends what a token tells.
  void take(const serve::TokenEvent& event, std::vector<Delta>& deltas);
  /// Appends what was held back, and the end.
  void take(const serve::FinishEvent& event, std::vector<Delta>& deltas);

  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }
  /// Texts that began like calls and were none.
  std::int64_t malformed_calls() const { return reader_.malformed_count(); }

 private:
  void begin(std::vector<Delta>& deltas);
  void tell(std::vector<Delta>& deltas);
  Delta& add(DeltaKind kind, std::vector<Delta>& deltas) const;

  std::int64_t choice_;
  bool logs_;
  bool ids_;
  std::string_view call_prefix_;
  text::ReplyReader reader_;
  text::ReplyEvents events_;
  Delta echo_;  // told before all else
  bool has_begun_ = false;
  bool has_arguments_ = false;  // of the call at work
  std::int64_t reasoning_tokens_ = 0;
};

}  // namespace parhelion::app
