#include "text/reply/forced_call.h"

#include "base/error.h"
#include "text/grammar/placed_schema.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

bool is_tool_name(std::string_view name) {
  constexpr std::size_t kMostName = 64;
  return !name.empty() && name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

const Json& tool_member(const Json& json, std::string_view key, std::string_view where) {
  const Json* member = json.find(key);
  ensure(member != nullptr, ErrorKind::invalid, "{}.{} is missing", where, key);
  return *member;
}

Tool read_tool(const Json& json, const std::string& where) {
  const std::string& type = tool_member(json, "type", where).as_string(where + ".type");
  ensure(type == "function", ErrorKind::invalid, "{}.type is '{}', expected 'function'", where,
         type);
  const Json& function = tool_member(json, "function", where);
  const std::string inner = where + ".function";
  Tool tool{.name = tool_member(function, "name", inner).as_string(inner + ".name"),
            .parameters = Json::Object{{"type", Json("object")}}};
  ensure(is_tool_name(tool.name), ErrorKind::invalid,
         "{}.name is '{}', expected 1 to 64 letters, digits, _ and -", inner, tool.name);
  const Json* parameters = function.find("parameters");
  if (parameters == nullptr || parameters->is_null()) return tool;
  ensure(parameters->is_object(), ErrorKind::invalid, "{}.parameters is {}, expected an object",
         inner, parameters->type_name());
  tool.parameters = *parameters;
  return tool;
}

std::string first_of(const std::vector<std::string>& texts) {
  return texts.empty() ? std::string() : texts.front();
}

/// {"name": the function's name, "arguments": what its schema says}
Json call_schema(const ToolFormat& format, const Tool& tool) {
  Json::Object properties;
  properties.emplace_back(format.name_key, Json::Object{{"const", Json(tool.name)}});
  properties.emplace_back(format.arguments_key,
                          placed_schema(tool.parameters, "/properties/" + format.arguments_key));
  return Json::Object{{"type", Json("object")},
                      {"properties", Json(std::move(properties))},
                      {"required", Json::Array{Json(format.name_key), Json(format.arguments_key)}},
                      {"additionalProperties", Json(false)}};
}

Json list_schema(const ToolFormat& format, const std::vector<Tool>& tools, CallCount count) {
  Json::Array calls;
  for (const Tool& tool : tools) calls.push_back(call_schema(format, tool));
  Json::Object schema{{"type", Json("array")},
                      {"items", placed_schema(any_of_schemas(std::move(calls)), "/items")},
                      {"minItems", Json(1)}};
  if (count == CallCount::one) schema.emplace_back("maxItems", Json(1));
  return schema;
}

ForcedCall forced_call(const ToolFormat& format, const Tool& tool) {
  // A bare call stands without a marker.
  const std::string open =
      format.is_bare ? "" : first_of(format.section_opens) + format.opens.front();
  const std::string close = format.close + first_of(format.section_closes);
  if (format.kind == ToolCallKind::json_object) {
    return {open + format.spacing, call_schema(format, tool), format.spacing + close};
  }
  const std::string& end =
      format.written_name_end.empty() ? format.name_end : format.written_name_end;
  return {open + format.name_prefix + tool.name + end, tool.parameters, close};
}

}  // namespace

std::vector<Tool> read_tools(const Json& tools) {
  std::vector<Tool> read;
  const Json::Array& items = tools.as_array("tools");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    Tool tool = read_tool(items[i], where);
    for (const Tool& known : read) {
      ensure(known.name != tool.name, ErrorKind::invalid,
             "{}.function.name '{}' is there twice, expected once", where, tool.name);
    }
    read.push_back(std::move(tool));
  }
  return read;
}

std::vector<ForcedCall> forced_calls(const ToolFormat& format, const std::vector<Tool>& tools,
                                     const std::optional<std::string>& choice, CallCount count) {
  ensure(format.kind != ToolCallKind::parameters, ErrorKind::unsupported,
         "a forced call in tool call format '{}' is not supported: its arguments are no JSON",
         format.name);
  std::vector<Tool> chosen = tools;
  if (choice) std::erase_if(chosen, [&](const Tool& tool) { return tool.name != *choice; });
  ensure(!chosen.empty(), ErrorKind::invalid, "tool_choice needs {}, which tools does not have",
         choice ? "function '" + *choice + "'" : "a function");
  if (format.kind == ToolCallKind::json_list) {
    return {{format.opens.front(), list_schema(format, chosen, count), format.close}};
  }
  std::vector<ForcedCall> calls;
  for (const Tool& tool : chosen) calls.push_back(forced_call(format, tool));
  return calls;
}

}  // namespace parhelion::text
