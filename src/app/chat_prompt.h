#pragma once

#include "text/prompt_text.h"

#include <string>

namespace parhelion::app {

/// A user's message as a chat template frames it, up to where the answer begins.
///
/// Errors: as text::ChatTemplate.
text::PromptText chat_prompt(const std::string& chat_template, const text::Tokenizer& tokenizer,
                             const std::string& message);

}  // namespace parhelion::app
