#pragma once

#include "app/http/delta.h"
#include "base/json.h"
#include "text/tokenizer.h"

#include <span>
#include <string>

namespace parhelion::app {

/// The log-probability as JSON has it: minus infinity is a large negative number.
double finite_log(float value);

/// The text that a token stands for alone; bytes that are no characters are U+FFFD.
std::string token_text(const text::Tokenizer& tokenizer, std::int32_t id);

/// Log-probabilities as the chat endpoint has them: an object for each token.
Json chat_logs(const text::Tokenizer& tokenizer, std::span<const TokenLog> logs);

/// Log-probabilities as the completions endpoint has them: parallel lists. `offset` is where the
/// first token's text begins.
Json completion_logs(const text::Tokenizer& tokenizer, std::span<const TokenLog> logs,
                     std::int64_t offset);

}  // namespace parhelion::app
