#pragma once

#include "base/json.h"
#include "text/reply/reply_format.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// A function that a model may call.
struct Tool {
  std::string name;
  Json parameters = {};  ///< a JSON schema of an object
};

/// Reads the `tools` of a request: [{"type": "function", "function": {"name", "parameters"}}, ...].
///
/// Errors: invalid, with the place, if a tool is no function, a name is not 1 to 64 letters,
/// digits,
///         `_` and `-` or is there twice, or parameters are no object.
std::vector<Tool> read_tools(const Json& tools);

/// How many calls a reply may have.
enum class CallCount : std::uint8_t { one, several };

/// One way to write a call that a model is held to: a text with markers, which stands for exactly
/// these tokens; then JSON that follows the schema; then a text again. The reply ends behind it.
struct ForcedCall {
  std::string before;
  Json schema;
  std::string after;
};

/// The ways to call one of `tools` in a format, or the one named `choice`. Several calls are
/// possible only where the format is a list; else each reply has one.
///
/// Errors: invalid if there are no tools or none is named `choice`; unsupported, by name, for
///         formats whose arguments are no JSON.
std::vector<ForcedCall> forced_calls(const ToolFormat& format, const std::vector<Tool>& tools,
                                     const std::optional<std::string>& choice, CallCount count);

}  // namespace parhelion::text
