#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// How a model marks what it thinks before it answers.
struct ReasoningFormat {
  std::string name = {};
  std::string open = {};
  std::string close = {};
  bool reopens = false;  ///< may begin again behind other text; else only a reply begins with it
  bool trims = true;     ///< white space beside the markers is no part of either text

  bool operator==(const ReasoningFormat&) const = default;
};

/// What a tool call is made of.
enum class ToolCallKind : std::uint8_t {
  json_object,  ///< an object with a name and arguments
  json_list,    ///< a list of such objects
  named_json,   ///< a name, then the arguments as an object
  parameters,   ///< a name, then each argument between markers
};

/// How a model writes tool calls. Markers that a kind does not use are empty.
struct ToolFormat {
  std::string name = {};
  ToolCallKind kind = ToolCallKind::json_object;
  std::vector<std::string> opens = {};           ///< begin a call, or the list of calls
  std::string close = {};                        ///< ends it; may be absent in a text
  std::vector<std::string> section_opens = {};   ///< may stand before the first call
  std::vector<std::string> section_closes = {};  ///< may stand behind the last call
  std::vector<std::string> dropped = {};         ///< are no part of the text wherever they stand
  bool is_bare = false;                          ///< a reply that begins with { may be a call, too
  std::string name_key = "name";                 ///< json_object, json_list
  std::string arguments_key = "arguments";
  std::string name_prefix = {};  ///< named_json: no part of the name
  std::string name_end = {};     ///< named_json, parameters; empty: where the name ends
  std::string key_open = {};     ///< parameters: stands before an argument's key
  std::string key_end = {};
  std::string value_open = {};
  std::string value_close = {};
  std::string string_sign = {};  ///< between key and key_end: the value is a string
  bool trims_newlines = false;   ///< parameters: a newline at each end of a value is no part of it
  /// How a call is written that a model is held to: between markers and object; behind a name, if
  /// that is more than name_end.
  std::string spacing = {};
  std::string written_name_end = {};
  std::vector<std::string> tokens = {};  ///< the parts of the markers that may be tokens

  bool operator==(const ToolFormat&) const = default;
};

/// How the replies of a model are read.
struct ReplyFormat {
  std::optional<ReasoningFormat> reasoning = {};
  std::optional<ToolFormat> tools = {};

  bool operator==(const ReplyFormat&) const = default;
};

/// All formats that are known, each by its name. Those of tools stand in the order in which they
/// are looked for.
std::span<const std::string_view> reasoning_format_names();
std::span<const std::string_view> tool_format_names();

/// Errors: invalid, with the names there are, if there is none of this name.
ReasoningFormat reasoning_format(std::string_view name);
ToolFormat tool_format(std::string_view name);

/// The formats whose markers the source of a chat template shows.
ReplyFormat detect_reply_format(std::string_view template_source);

/// Whether a prompt ends within reasoning: with its opening marker and then at most white space.
bool opens_reasoning(std::string_view prompt, const ReasoningFormat& format);

}  // namespace parhelion::text
