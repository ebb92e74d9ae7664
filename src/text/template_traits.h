#pragma once

#include "text/chat_template.h"
#include "text/reply/reply_format.h"

#include <cstdint>
#include <optional>
#include <string>

namespace parhelion::text {

/// In which form a template takes the arguments of a tool call.
enum class CallArguments : std::uint8_t {
  none,    ///< it writes no calls
  object,  ///< as values
  text,    ///< as the text of JSON
};

/// Whether the prompt of an answer begins with reasoning.
enum class PromptReasoning : std::uint8_t {
  never,
  always,
  by_variable,  ///< as `enable_thinking` or `thinking` says
};

/// What a template makes of the messages that a client may send.
struct TemplateTraits {
  bool takes_system = false;        ///< a system message shows, and is allowed
  bool takes_developer = false;     ///< so for a developer message
  bool takes_text = false;          ///< content as a string
  bool takes_parts = false;         ///< content as a list of parts
  bool takes_tools = false;         ///< shows which tools there are
  bool takes_tool_results = false;  ///< messages of role tool
  CallArguments call_arguments = CallArguments::none;
  bool calls_lack_content = false;  ///< it writes calls only of messages whose content is null
  bool adds_generation_prompt = false;
  std::string reasoning_field = {};  ///< of an earlier message, before another call; empty: none
  PromptReasoning prompt_reasoning = PromptReasoning::never;

  bool operator==(const TemplateTraits&) const = default;
};

/// Finds the traits by rendering small conversations. `options` gives what each rendering needs
/// (the texts of tokens, the time, the limits).
///
/// Errors: none of the template: what it refuses, it does not take.
TemplateTraits probe_template(const ChatTemplate& chat, const ChatOptions& options,
                              const std::optional<ReasoningFormat>& reasoning);

}  // namespace parhelion::text
