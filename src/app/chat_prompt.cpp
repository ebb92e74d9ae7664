#include "app/chat_prompt.h"

#include "base/json.h"
#include "text/chat_template.h"

#include <optional>

namespace parhelion::app {
namespace {

std::optional<std::string> text_of(const text::Tokenizer& tokenizer,
                                   std::optional<text::TokenId> id) {
  if (!id) return std::nullopt;
  return std::string(tokenizer.token_bytes(*id));
}

}  // namespace

std::string chat_prompt(const std::string& chat_template, const text::Tokenizer& tokenizer,
                        const std::string& message) {
  const Json messages = Json::Array{Json::Object{{"role", "user"}, {"content", message}}};
  return text::ChatTemplate(chat_template)
      .render(messages, {.add_generation_prompt = true,
                         .bos_token = text_of(tokenizer, tokenizer.special_ids().bos),
                         .eos_token = text_of(tokenizer, tokenizer.special_ids().eos)});
}

}  // namespace parhelion::app
