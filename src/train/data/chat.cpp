#include "train/data/chat.h"

#include "base/error.h"

#include <string_view>
#include <utility>

namespace parhelion::train {
namespace {

enum class GenerationPrompt : std::uint8_t { absent, present };

/// The text of the first `turns` turns.
std::string render_turns(const text::ChatTemplate& chat_template, const ChatRow& row,
                         std::size_t turns, GenerationPrompt prompt, text::ChatOptions& options) {
  options.add_generation_prompt = prompt == GenerationPrompt::present;
  const auto first = row.messages.begin();
  return chat_template.render(Json::Array(first, first + static_cast<std::ptrdiff_t>(turns)),
                              options);
}

/// What `longer` says after `shorter`; `turn` counts from 1.
std::string extension_of_chat(std::string_view shorter, std::string_view longer, std::size_t turn) {
  ensure(longer.starts_with(shorter), ErrorKind::invalid,
         "turn {}: the chat template does not extend turn by turn, expected its text to begin with "
         "the text before this turn",
         turn);
  return std::string(longer.substr(shorter.size()));
}

bool is_answer(const Json& message) {
  const Json* role = message.find("role");
  return role != nullptr && role->is_string() && role->as_string("role") == "assistant";
}

}  // namespace

std::vector<ChatExchange> cut_chat(const text::ChatTemplate& chat_template, const ChatRow& row,
                                   text::ChatOptions options) {
  options.tools = row.tools;
  std::vector<ChatExchange> exchanges;
  std::string said;
  for (std::size_t turn = 0; turn < row.messages.size(); ++turn) {
    if (!is_answer(row.messages[turn])) continue;
    const std::string asked =
        render_turns(chat_template, row, turn, GenerationPrompt::present, options);
    std::string answered =
        render_turns(chat_template, row, turn + 1, GenerationPrompt::absent, options);
    exchanges.push_back(
        {extension_of_chat(said, asked, turn + 1), extension_of_chat(asked, answered, turn + 1)});
    said = std::move(answered);
  }
  return exchanges;
}

}  // namespace parhelion::train
