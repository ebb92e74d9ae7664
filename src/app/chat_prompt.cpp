#include "app/chat_prompt.h"

namespace parhelion::app {

text::PromptText chat_prompt(const std::string& chat_template, const text::Tokenizer& tokenizer,
                             const std::string& message) {
  const Json messages = Json::Array{Json::Object{{"role", "user"}, {"content", message}}};
  return text::render_prompt(text::ChatTemplate(chat_template), tokenizer, messages,
                             text::prompt_options(tokenizer));
}

}  // namespace parhelion::app
