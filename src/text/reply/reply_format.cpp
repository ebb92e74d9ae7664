#include "text/reply/reply_format.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace parhelion::text {
namespace {

/// A format with the texts that a template shows if its model writes this format: all of `signs`,
/// and none of `excludes`.
template <class Format>
struct KnownFormat {
  std::string_view name;
  Format (*make)() = nullptr;
  std::array<std::string_view, 2> signs = {};
  std::string_view excludes = {};
};

using KnownReasoning = KnownFormat<ReasoningFormat>;
using KnownTools = KnownFormat<ToolFormat>;

constexpr KnownReasoning kReasoning[] = {
    {"channels",
     [] {
       return ReasoningFormat{
           .open = "<|channel|>analysis<|message|>", .close = "<|end|>", .reopens = true};
     },
     {"<|channel|>analysis", "<|message|>"}},
    {"seed_think",
     [] { return ReasoningFormat{.open = "<seed:think>", .close = "</seed:think>"}; },
     {"<seed:think>"}},
    {"mm_think",
     [] { return ReasoningFormat{.open = "<mm:think>", .close = "</mm:think>"}; },
     {"<mm:think>"}},
    {"bracket_think",
     [] { return ReasoningFormat{.open = "[THINK]", .close = "[/THINK]"}; },
     {"[/THINK]"}},
    {"start_thinking",
     [] { return ReasoningFormat{.open = "<|START_THINKING|>", .close = "<|END_THINKING|>"}; },
     {"<|START_THINKING|>"}},
    {"inner",
     [] { return ReasoningFormat{.open = "<|inner_prefix|>", .close = "<|inner_suffix|>"}; },
     {"<|inner_prefix|>"}},
    {"thinking",
     [] { return ReasoningFormat{.open = "<thinking>", .close = "</thinking>"}; },
     {"<thinking>", "</thinking>"},
     "<think>"},
    {"think", [] { return ReasoningFormat{.open = "<think>", .close = "</think>"}; }, {"</think>"}},
};

ToolFormat channels_format() {
  return {.kind = ToolCallKind::named_json,
          .opens = {"<|channel|>commentary to=functions.", "<|start|>assistant to=functions.",
                    " to=functions."},
          .close = "<|call|>",
          .dropped = {"<|start|>assistant", "<|channel|>final<|message|>",
                      "<|channel|>commentary<|message|>", "<|end|>", "<|return|>"},
          .name_end = "<|message|>",
          .written_name_end = " <|constrain|>json<|message|>",
          .tokens = {"<|channel|>", "<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>",
                     "<|constrain|>"}};
}

ToolFormat dsml_format() {
  return {.kind = ToolCallKind::parameters,
          .opens = {"<｜DSML｜invoke name=\""},
          .close = "</｜DSML｜invoke>",
          .section_opens = {"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
          .section_closes = {"</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
          .name_end = "\">",
          .key_open = "<｜DSML｜parameter name=\"",
          .key_end = ">",
          .value_close = "</｜DSML｜parameter>",
          .string_sign = "string=\"true\"",
          .tokens = {"｜DSML｜"}};
}

ToolFormat sep_format(std::string open, std::string name_end, std::string close) {
  return {.kind = ToolCallKind::named_json,
          .opens = {std::move(open)},
          .close = std::move(close),
          .section_opens = {"<｜tool▁calls▁begin｜>"},
          .section_closes = {"<｜tool▁calls▁end｜>"},
          .name_end = std::move(name_end),
          .tokens = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>",
                     "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"}};
}

ToolFormat sep_fenced_format() {
  return sep_format("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n",
                    "\n```<｜tool▁call▁end｜>");
}

ToolFormat sep_plain_format() {
  return sep_format("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>");
}

ToolFormat call_argument_format() {
  return {.kind = ToolCallKind::named_json,
          .opens = {"<|tool_call_begin|>"},
          .close = "<|tool_call_end|>",
          .section_opens = {"<|tool_calls_section_begin|>"},
          .section_closes = {"<|tool_calls_section_end|>"},
          .name_prefix = "functions.",
          .name_end = "<|tool_call_argument_begin|>",
          .written_name_end = ":0<|tool_call_argument_begin|>",
          .tokens = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
                     "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"}};
}

ToolFormat invoke_format() {
  return {.kind = ToolCallKind::parameters,
          .opens = {"<invoke name=\""},
          .close = "</invoke>",
          .section_opens = {"<minimax:tool_call>"},
          .section_closes = {"</minimax:tool_call>"},
          .name_end = "\">",
          .key_open = "<parameter name=\"",
          .key_end = "\">",
          .value_close = "</parameter>",
          .tokens = {"<minimax:tool_call>", "</minimax:tool_call>"}};
}

ToolFormat arg_key_format() {
  return {.kind = ToolCallKind::parameters,
          .opens = {"<tool_call>"},
          .close = "</tool_call>",
          .key_open = "<arg_key>",
          .key_end = "</arg_key>",
          .value_open = "<arg_value>",
          .value_close = "</arg_value>",
          .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>",
                     "</arg_value>"}};
}

ToolFormat function_parameter_format() {
  return {.kind = ToolCallKind::parameters,
          .opens = {"<function="},
          .close = "</function>",
          .section_opens = {"<tool_call>", "<seed:tool_call>"},
          .section_closes = {"</tool_call>", "</seed:tool_call>"},
          .name_end = ">",
          .key_open = "<parameter=",
          .key_end = ">",
          .value_close = "</parameter>",
          .trims_newlines = true,
          .tokens = {"<tool_call>", "</tool_call>", "<seed:tool_call>", "</seed:tool_call>"}};
}

ToolFormat function_json_format() {
  return {.kind = ToolCallKind::named_json,
          .opens = {"<function="},
          .close = "</function>",
          .name_end = ">"};
}

ToolFormat bracket_args_format() {
  return {.kind = ToolCallKind::named_json,
          .opens = {"[TOOL_CALLS]"},
          .name_end = "[ARGS]",
          .tokens = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}};
}

ToolFormat list_format(std::string open, std::string close) {
  const bool is_tag = open.starts_with('<') || open.starts_with('[');
  return {.kind = ToolCallKind::json_list,
          .opens = {open},
          .close = close,
          .tokens = is_tag ? std::vector<std::string>{open, close} : std::vector<std::string>{}};
}

ToolFormat named_list_format(std::string open, std::string close) {
  ToolFormat format = list_format(std::move(open), std::move(close));
  format.name_key = "tool_name";
  format.arguments_key = "parameters";
  return format;
}

ToolFormat python_tag_format() {
  return {.kind = ToolCallKind::json_object,
          .opens = {"<|python_tag|>"},
          .is_bare = true,
          .arguments_key = "parameters",
          .tokens = {"<|python_tag|>"}};
}

ToolFormat tool_call_format() {
  return {.kind = ToolCallKind::json_object,
          .opens = {"<tool_call>"},
          .close = "</tool_call>",
          .spacing = "\n",
          .tokens = {"<tool_call>", "</tool_call>"}};
}

constexpr KnownTools kTools[] = {
    {"channels", channels_format, {"<|channel|>commentary", "<|call|>"}},
    {"dsml", dsml_format, {"｜DSML｜"}},
    {"sep_fenced", sep_fenced_format, {"<｜tool▁sep｜>", "```json"}},
    {"sep_plain", sep_plain_format, {"<｜tool▁sep｜>"}},
    {"call_argument", call_argument_format, {"<|tool_call_argument_begin|>"}},
    {"invoke", invoke_format, {"<minimax:tool_call>", "<invoke name="}},
    {"arg_key", arg_key_format, {"<tool_call>", "<arg_key>"}},
    {"function_parameter", function_parameter_format, {"<function=", "<parameter="}},
    {"function_json", function_json_format, {"<function="}},
    {"bracket_args", bracket_args_format, {"[TOOL_CALLS]", "[ARGS]"}},
    {"bracket_list", [] { return list_format("[TOOL_CALLS]", ""); }, {"[TOOL_CALLS]"}},
    {"action",
     [] { return named_list_format("<|START_ACTION|>", "<|END_ACTION|>"); },
     {"<|START_ACTION|>"}},
    {"action_fenced",
     [] { return named_list_format("Action: ```json\n", "\n```"); },
     {"Action:", "```json"}},
    {"toolcall_list", [] { return list_format("<TOOLCALL>", "</TOOLCALL>"); }, {"<TOOLCALL>"}},
    {"tool_calls_list",
     [] { return list_format("<tool_calls>", "</tool_calls>"); },
     {"<tool_calls>["}},
    {"functools_list", [] { return list_format("functools", ""); }, {"functools["}},
    {"tool_call", tool_call_format, {"<tool_call>"}, "]<]minimax[>["},
    {"tool_call_list", [] { return list_format("<|tool_call|>", ""); }, {"<|tool_call|>"}},
    {"python_tag", python_tag_format, {"{\"name\": function name, \"parameters\""}},
};

template <class Known>
bool shows_signs(std::string_view source, const Known& known) {
  const bool is_excluded = !known.excludes.empty() && source.find(known.excludes) != source.npos;
  return !is_excluded && std::all_of(known.signs.begin(), known.signs.end(), [&](auto sign) {
    return source.find(sign) != std::string_view::npos;
  });
}

template <class Format, std::size_t count>
std::optional<Format> detect_among(const KnownFormat<Format> (&formats)[count],
                                   std::string_view source) {
  for (const auto& known : formats) {
    if (!shows_signs(source, known)) continue;
    Format format = known.make();
    format.name = known.name;
    return format;
  }
  return std::nullopt;
}

template <class Format, std::size_t count>
constexpr std::array<std::string_view, count> names_of(
    const KnownFormat<Format> (&formats)[count]) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) names[i] = formats[i].name;
  return names;
}

constexpr auto kReasoningNames = names_of(kReasoning);
constexpr auto kToolNames = names_of(kTools);

template <class Format, std::size_t count>
Format make_named(const KnownFormat<Format> (&formats)[count], std::string_view what,
                  std::string_view name) {
  for (const auto& known : formats) {
    if (known.name != name) continue;
    Format format = known.make();
    format.name = known.name;
    return format;
  }
  const auto names = names_of(formats);
  fail(ErrorKind::invalid, "{} format '{}' is not known, expected one of {}", what, name,
       fmt::join(names, ", "));
}

}  // namespace

std::span<const std::string_view> reasoning_format_names() { return kReasoningNames; }
std::span<const std::string_view> tool_format_names() { return kToolNames; }

ReasoningFormat reasoning_format(std::string_view name) {
  return make_named(kReasoning, "reasoning", name);
}
ToolFormat tool_format(std::string_view name) { return make_named(kTools, "tool call", name); }

ReplyFormat detect_reply_format(std::string_view template_source) {
  return {.reasoning = detect_among(kReasoning, template_source),
          .tools = detect_among(kTools, template_source)};
}

bool opens_reasoning(std::string_view prompt, const ReasoningFormat& format) {
  const std::size_t end = prompt.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  return prompt.substr(0, end + 1).ends_with(format.open);
}

}  // namespace parhelion::text
