#pragma once

#include "serve/request.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::app {

/// A token with its log-probability and those that were likely in its place.
struct TokenLog {
  serve::ScoredToken token;
  std::vector<serve::ScoredToken> top = {};
  bool in_prompt = false;
  bool has_value = true;  ///< the first token of a prompt has none
};

enum class DeltaKind : std::uint8_t {
  text,            ///< more of the answer
  reasoning,       ///< more of what the model thinks
  tool_call,       ///< a call begins
  tool_arguments,  ///< more of its arguments
  finish,          ///< the choice ends
};

/// Why a choice ended, as far as clients tell apart.
enum class ChoiceEnd : std::uint8_t {
  stop,
  stop_string,
  length,
  tool_calls,
  cancelled,
  numeric_failure,
  no_allowed_token,
  rules_failed,
  failed
};

/// What came of one choice. Everything that a client is told, streamed or whole, is made of these.
struct Delta {
  DeltaKind kind = DeltaKind::text;
  std::int64_t choice = 0;
  std::string text = {};               ///< or arguments; of a tool call its function's name
  std::vector<TokenLog> logs = {};     ///< of tokens drawn since the last one, if asked for
  std::vector<std::int32_t> ids = {};  ///< drawn since the last delta, if asked for
  std::int64_t tool = 0;               ///< number of the call within its choice
  std::string tool_id = {};
  ChoiceEnd end = ChoiceEnd::stop;
  std::string stop_string = {};  ///< the one that ended it
};

/// Tokens of a whole answer.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t reasoning_tokens = 0;
};

}  // namespace parhelion::app
