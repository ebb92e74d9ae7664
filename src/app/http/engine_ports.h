#pragma once

#include "app/http/forced_call_mask.h"
#include "serve/request.h"
#include "text/grammar/token_grammar.h"
#include "text/reply/reply_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace parhelion::app {

/// Makes filters that end a sequence where its reply shows a stop string or, where it may call
/// `at_most_once`, behind its first call.
std::function<std::unique_ptr<serve::StopFilter>(std::int64_t)> stop_filter_port(
    text::Tokenizer tokenizer, text::ReplyOptions options, bool at_most_once);

/// What a sequence is held to, token by token.
struct TokenRules {
  std::shared_ptr<const text::TokenGrammar> grammar = {};  ///< of the answer; may be null
  std::vector<ForcedCallRule> calls = {};  ///< if not empty, the answer is one of them
  /// If not empty, a call that begins with the first token of these is one of them; all begin
  /// alike.
  std::vector<ForcedCallRule> begun_calls = {};
  std::vector<std::vector<std::int32_t>> bad_words = {};  ///< ids that never stand in a row
  std::vector<std::int32_t> stop_ids = {};                ///< that may end the answer
  std::optional<std::int64_t> thinking_tokens = {};  ///< after so many, reasoning is made to close
  bool may_open_reasoning = false;  ///< the reply may begin with the marker that opens reasoning
};

/// Makes masks that keep a sequence to rules. What the model thinks before it answers, as `options`
/// read it, is free, and so is the marker that opens it.
std::function<std::unique_ptr<serve::TokenMask>(std::int64_t)> token_mask_port(
    text::Tokenizer tokenizer, text::ReplyOptions options, TokenRules rules);

}  // namespace parhelion::app
