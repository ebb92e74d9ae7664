#pragma once

#include "text/chat_template.h"
#include "train/data/row.h"

#include <string>
#include <vector>

namespace parhelion::train {

/// What is said up to where an answer of the assistant begins, and the answer as the template
/// frames it.
struct ChatExchange {
  std::string before;
  std::string answer;
};

/// A conversation cut at the assistant's turns, as generation would see it: each `before` goes on
/// from the last answer. What follows the last answer is left out.
///
/// Errors: invalid, naming the turn, if the template does not extend turn by turn (the text up to a
///         turn is not how the text with that turn begins); also as of ChatTemplate::render.
std::vector<ChatExchange> cut_chat(const text::ChatTemplate& chat_template, const ChatRow& row,
                                   text::ChatOptions options);

}  // namespace parhelion::train
