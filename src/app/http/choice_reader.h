#pragma once

#include "app/http/delta.h"
#include "app/http/served_model.h"
#include "text/detokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::app {

/// How the tokens of a choice are shown.
struct ChoiceOptions {
  bool logs = false;           ///< log-probabilities beside the text
  bool shows_special = false;  ///< special tokens are text
};

/// Turns the tokens of one choice into deltas.
class ChoiceReader {
 public:
  ChoiceReader(const ServedModel& model, std::int64_t choice, const ChoiceOptions& options);

  /// Appends what a token tells.
  void take(const serve::TokenEvent& event, std::vector<Delta>& deltas);
  /// Appends what was held back, and the end.
  void take(const serve::FinishEvent& event, std::vector<Delta>& deltas);

  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  std::int64_t choice_;
  ChoiceOptions options_;
  text::Detokenizer detokenizer_;
  std::int64_t reasoning_tokens_ = 0;
};

}  // namespace parhelion::app
