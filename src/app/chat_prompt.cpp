#include "app/chat_prompt.h"

#include "base/json.h"
#include "text/chat_template.h"

namespace parhelion::app {
std::string chat_prompt(const std::string& chat_template, const text::Tokenizer& tokenizer,
                        const std::string& message) {
  const Json messages = Json::Array{Json::Object{{"role", "user"}, {"content", message}}};
  return text::ChatTemplate(chat_template).render(messages, text::prompt_options(tokenizer));
}

}  // namespace parhelion::app
