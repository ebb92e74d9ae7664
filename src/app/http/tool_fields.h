#pragma once

#include "app/http/fields.h"
#include "app/http/served_model.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace parhelion::app {

/// Whether a reply may, may not or must call.
enum class ToolChoice : std::uint8_t { none, may, must };

/// The tools of a request.
struct Tools {
  Json list = {};  ///< as templates take them; null: none
  ToolChoice choice = ToolChoice::none;
  std::string named = {};             ///< the one that must be called; empty: any
  std::set<std::string> strict = {};  ///< those whose arguments follow their schema in every call
  bool at_most_one = false;           ///< one call ends the reply

  bool is_offered() const { return choice != ToolChoice::none; }
};

/// Tools of /v1/chat/completions: functions within `function`.
///
/// Errors: of all: 400 `invalid_value` for names that are none, are there twice or are not in the
///         list, and schemas that are no objects; `unsupported_feature` for tools that are no
///         functions, or where the model's template shows it no tools and none is enforced.
Tools read_chat_tools(Fields& fields, const ServedModel& model);
/// Tools of /v1/responses: functions beside their type.
Tools read_response_tools(Fields& fields, const ServedModel& model);
/// Tools of /v1/messages.
Tools read_message_tools(Fields& fields, const ServedModel& model);

/// Whether the model's template shows it the tools of a request.
bool shows_tools(const ServedModel& model);

}  // namespace parhelion::app
