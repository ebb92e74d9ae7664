#include "app/chat_prompt.h"

#include "base/json.h"
#include "text/chat_template.h"

namespace parhelion::app {
std::string chat_prompt(const std::string& chat_template, const text::Tokenizer& tokenizer,
                        const std::string& message) {
  const Json messages = Json::Array{Json::Object{{"role", "user"}, {"content", message}}};
  return text::ChatTemplate(chat_template)
      .render(messages, {.add_generation_prompt = true,
                         .bos_token = tokenizer.special_text(tokenizer.special_ids().bos),
                         .eos_token = tokenizer.special_text(tokenizer.special_ids().eos),
                         .now = text::local_time()});
}

}  // namespace parhelion::app
