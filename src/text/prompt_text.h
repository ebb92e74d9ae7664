#pragma once

#include "base/json.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <cstddef>
#include <string>
#include <vector>

namespace parhelion::text {

/// The text of a prompt, and where in it no control token begins because the template did not write
/// what stands there: EncodeOptions::plain_at.
struct PromptText {
  std::string text;
  std::vector<std::size_t> plain_at = {};
};

/// Renders a conversation as ChatTemplate::render does, and tells the control tokens of the
/// template from those that stand in messages, tools and variables: nobody forges a turn by writing
/// `<|im_start|>`.
///
/// Errors: as ChatTemplate::render. Source: design/0011-control-tokens.md.
PromptText render_prompt(const ChatTemplate& chat, const Tokenizer& tokenizer, const Json& messages,
                         const ChatOptions& options);

}  // namespace parhelion::text
