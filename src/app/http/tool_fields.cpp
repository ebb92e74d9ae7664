#include "app/http/tool_fields.h"

#include "app/http/api_error.h"

#include <algorithm>
#include <set>

namespace parhelion::app {
namespace {

constexpr std::size_t kMostTools = 128;

bool is_tool_name(std::string_view name) {
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, may_stand);
}

std::string text_member(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string(key) : std::string();
}

/// A function as templates take it.
Json template_tool(const Json& function, std::string_view schema_key, const std::string& where) {
  const std::string name = text_member(function, "name");
  if (!is_tool_name(name))
    refuse_value("tools",
                 fmt::format("{}: expected a name of up to 64 letters, digits, _ - .", where));
  Json::Object made = {{"name", name}};
  if (const std::string about = text_member(function, "description"); !about.empty())
    made.emplace_back("description", about);
  const Json* schema = function.find(schema_key);
  if (schema != nullptr && !schema->is_object() && !schema->is_null())
    refuse_value("tools", fmt::format("{}: {} is {}, expected object", where, schema_key,
                                      schema->type_name()));
  const bool has_schema = schema != nullptr && schema->is_object();
  made.emplace_back("parameters", has_schema ? *schema
                                             : Json(Json::Object{{"type", "object"},
                                                                 {"properties", Json::Object{}}}));
  return Json::Object{{"type", "function"}, {"function", std::move(made)}};
}

std::string name_of(const Json& tool) { return text_member(*tool.find("function"), "name"); }

/// Where a tool of a list has its function: itself, or a member.
using FunctionOf = const Json* (*)(const Json& tool);

void read_list(Fields& fields, FunctionOf function_of, std::string_view schema_key, Tools& read) {
  const Json* tools = fields.find("tools");
  if (tools == nullptr) return;
  if (!tools->is_array()) refuse_value("tools", "tools: expected a list");
  Json::Array list;
  std::set<std::string> names;
  for (const Json& tool : tools->as_array("tools")) {
    const std::string where = fmt::format("tools.{}", list.size());
    const Json* function = tool.is_object() ? function_of(tool) : nullptr;
    if (function == nullptr || !function->is_object())
      refuse_feature("tools", where + ": is no function, other tools are not supported");
    list.push_back(template_tool(*function, schema_key, where));
    if (!names.insert(name_of(list.back())).second)
      refuse_value("tools", fmt::format("{}: '{}' is there twice", where, name_of(list.back())));
    const Json* strict = function->find("strict");
    if (strict != nullptr && *strict == Json(true)) read.strict.insert(name_of(list.back()));
  }
  if (list.size() > kMostTools)
    refuse_value("tools",
                 fmt::format("tools: has {}, expected at most {}", list.size(), kMostTools));
  if (!list.empty()) read.list = std::move(list);
}

void choose(Tools& tools, std::string_view word) {
  if (word == "none") {
    tools.choice = ToolChoice::none;
  } else if (word == "auto") {
    tools.choice = ToolChoice::may;
  } else if (word == "required" || word == "any") {
    tools.choice = ToolChoice::must;
  } else {
    refuse_value("tool_choice", fmt::format("tool_choice: '{}' is none", word.substr(0, 40)));
  }
}

void choose_named(Tools& tools, const std::string& name) {
  const auto is_it = [&name](const Json& tool) { return name_of(tool) == name; };
  const bool is_there =
      tools.list.is_array() && std::ranges::any_of(tools.list.as_array("tools"), is_it);
  if (!is_there)
    refuse_value("tool_choice",
                 fmt::format("tool_choice: '{}' is not among the tools", name.substr(0, 64)));
  tools.choice = ToolChoice::must;
  tools.named = name;
}

/// Refuses what the model cannot do with the tools.
Tools checked(Tools tools, const ServedModel& model) {
  if (tools.list.is_null()) {
    if (tools.choice == ToolChoice::must)
      refuse_value("tool_choice", "tool_choice: asks for a call, but there are no tools");
    tools.choice = ToolChoice::none;
  }
  if (tools.choice != ToolChoice::may) return tools;
  if (!shows_tools(model) || !model.reply_format.tools)
    refuse_feature("tools",
                   "tools: the model's template has none; a call can be enforced by tool_choice");
  return tools;
}

void need_template(const ServedModel& model) {
  if (!model.chat_template) refuse_feature("messages", "the model has no chat template");
}

/// OpenAI's `tool_choice`, whose object has the name at `path`.
void read_openai_choice(Fields& fields, FunctionOf function_of, Tools& tools) {
  tools.choice = ToolChoice::may;
  tools.at_most_one = !fields.boolean("parallel_tool_calls", true);
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_string()) return choose(tools, choice->as_string("tool_choice"));
  const Json* function = choice->is_object() ? function_of(*choice) : nullptr;
  if (function == nullptr)
    refuse_value("tool_choice", "tool_choice: expected none, auto, required or a function");
  choose_named(tools, text_member(*function, "name"));
}

const Json* inner_function(const Json& tool) {
  return text_member(tool, "type") == "function" ? tool.find("function") : nullptr;
}
const Json* outer_function(const Json& tool) {
  return text_member(tool, "type") == "function" ? &tool : nullptr;
}
const Json* message_function(const Json& tool) {
  const std::string type = text_member(tool, "type");
  return type.empty() || type == "custom" ? &tool : nullptr;
}

Tools read_openai_tools(Fields& fields, const ServedModel& model, FunctionOf function_of) {
  need_template(model);
  Tools tools;
  read_list(fields, function_of, "parameters", tools);
  read_openai_choice(fields, function_of, tools);
  return checked(std::move(tools), model);
}

}  // namespace

Tools read_chat_tools(Fields& fields, const ServedModel& model) {
  fields.refuse_unless_off("functions", "the older form of tools is not supported");
  return read_openai_tools(fields, model, inner_function);
}

Tools read_response_tools(Fields& fields, const ServedModel& model) {
  return read_openai_tools(fields, model, outer_function);
}

Tools read_message_tools(Fields& fields, const ServedModel& model) {
  need_template(model);
  Tools tools;
  read_list(fields, message_function, "input_schema", tools);
  tools.choice = ToolChoice::may;
  if (const Json* choice = fields.find("tool_choice")) {
    const std::string type = text_member(*choice, "type");
    const Json* alone = choice->find("disable_parallel_tool_use");
    tools.at_most_one = alone != nullptr && *alone == Json(true);
    if (type == "tool") {
      choose_named(tools, text_member(*choice, "name"));
    } else {
      choose(tools, type);
    }
  }
  return checked(std::move(tools), model);
}

bool shows_tools(const ServedModel& model) {
  if (!model.chat_template) return false;
  const auto& variables = model.chat_template->facts().variables;
  return std::ranges::find(variables, "tools") != variables.end();
}

}  // namespace parhelion::app
