#include "app/http/api_state.h"
#include "app/http/engine_ports.h"

namespace parhelion::app {
namespace {

/// A call as the grammar makes it where the model has no format of its own that can be enforced:
/// an object and nothing else.
text::ToolFormat enforced_format() {
  return {.name = "enforced", .kind = text::ToolCallKind::json_object, .is_bare = true};
}

/// Whether the model is held to its own way to write calls: its template shows it tools, and their
/// arguments are JSON.
bool holds_own_calls(const ServedModel& model) {
  const auto& own = model.reply_format.tools;
  return own && own->kind != text::ToolCallKind::parameters && shows_tools(model);
}

/// How a call that must be made is written.
text::ToolFormat call_format(const ServedModel& model) {
  return holds_own_calls(model) ? *model.reply_format.tools : enforced_format();
}

/// The formats that a reply may have.
text::ReplyFormat reply_format(const ServedModel& model, const Tools& tools) {
  text::ReplyFormat format = model.reply_format;
  if (tools.choice == ToolChoice::none) format.tools.reset();
  if (tools.choice == ToolChoice::must) format.tools = call_format(model);
  return format;
}

std::string name_of_tool(const Json& tool) {
  return tool.find("function")->find("name")->as_string("name");
}

std::vector<text::Tool> tools_of(const Json& list) {
  std::vector<text::Tool> tools;
  for (const Json& each : list.as_array("tools")) {
    const Json& function = *each.find("function");
    tools.push_back({.name = function.find("name")->as_string("name"),
                     .parameters = *function.find("parameters")});
  }
  return tools;
}

/// Whether every call is held to its tool's schema once it has begun: some tool is strict, and the
/// marker that begins calls is one token, which nothing else begins with.
bool holds_begun_calls(const ServedModel& model, const Tools& tools) {
  if (tools.choice != ToolChoice::may || tools.strict.empty() || !holds_own_calls(model))
    return false;
  const text::ToolFormat& own = *model.reply_format.tools;
  if (own.is_bare) return false;
  const std::string& marker =
      own.section_opens.empty() ? own.opens.front() : own.section_opens.front();
  return model.tokenizer.encode(marker).size() == 1;
}

/// The tools, those that are not strict with any arguments.
Tools with_free_arguments(Tools tools) {
  Json::Array list;
  for (const Json& tool : tools.list.as_array("tools")) {
    Json::Object function = tool.find("function")->as_object("tools");
    for (auto& [key, value] : function) {
      if (key == "parameters" && !tools.strict.contains(name_of_tool(tool)))
        value = Json::Object{{"type", "object"}};
    }
    list.push_back(Json::Object{{"type", "function"}, {"function", std::move(function)}});
  }
  tools.list = std::move(list);
  return tools;
}

/// The ways in which the call may be written.
std::vector<ForcedCallRule> call_rules(ApiCall& call, const Tools& tools) {
  const text::Tokenizer& tokenizer = call.state.model.tokenizer;
  const std::optional<std::string> named =
      tools.named.empty() ? std::nullopt : std::optional(tools.named);
  const auto count = tools.at_most_one ? text::CallCount::one : text::CallCount::several;
  std::vector<ForcedCallRule> rules;
  for (const text::ForcedCall& way : join_alike(
           text::forced_calls(call_format(call.state.model), tools_of(tools.list), named, count))) {
    ForcedCallRule rule;
    rule.before = tokenizer.encode(way.before);
    rule.arguments =
        call.state.constraints.compile({Constraint::Kind::json_schema, write_json(way.schema)});
    rule.after = tokenizer.encode(way.after);
    rules.push_back(std::move(rule));
  }
  return rules;
}

TokenRules make_rules(ApiCall& call, const ReplyPlan& plan, const serve::Request& request) {
  const auto begin = ApiClock::now();
  const ServedModel& model = call.state.model;
  TokenRules rules;
  const auto answer = call.state.constraints.compile(plan.constraint);
  const bool may_call = answer && plan.tools.is_offered();
  if (may_call || plan.tools.choice == ToolChoice::must) rules.calls = call_rules(call, plan.tools);
  if (may_call) {
    rules.calls.push_back({.arguments = answer});  // one way more, which nothing stands around
  } else {
    rules.grammar = answer;
    if (holds_begun_calls(model, plan.tools))
      rules.begun_calls = call_rules(call, with_free_arguments(plan.tools));
  }
  rules.bad_words = plan.bad_words;
  rules.thinking_tokens = plan.thinking_tokens;
  rules.stop_ids = model.stop_ids;
  rules.stop_ids.insert(rules.stop_ids.end(), request.stop_ids.begin(), request.stop_ids.end());
  call.state.metrics.grammar_compile.observe(
      std::chrono::duration<double>(ApiClock::now() - begin).count());
  return rules;
}

/// Whether the model may still open reasoning: the prompt has not closed it already, as templates
/// do to switch it off.
bool may_think(std::string_view prompt, const text::ReasoningFormat& reasoning) {
  const std::size_t end = prompt.find_last_not_of(" \n\t");
  return end == std::string_view::npos || !prompt.substr(0, end + 1).ends_with(reasoning.close);
}

}  // namespace

void apply_reply_plan(ApiCall& call, const ReplyPlan& plan, std::string_view prompt,
                      ChoiceOptions& choices, serve::Request& request) {
  const ServedModel& model = call.state.model;
  const bool must_call = plan.tools.choice == ToolChoice::must;
  const bool is_held = plan.constraint.kind != Constraint::Kind::none;
  if (must_call && is_held)
    refuse_value("tool_choice",
                 "tool_choice: a call that must be made and a format exclude each other");
  if (is_held && plan.tools.is_offered() && !holds_own_calls(model))
    refuse_feature(
        "tool_choice",
        "tool_choice: beside a format this model's calls cannot be told from the answer; "
        "none leaves the format");

  // A raw prompt has no conversation whose formats could be read.
  if (!prompt.empty()) choices.reply.format = reply_format(model, plan.tools);
  choices.reply.tools = plan.tools.list;
  choices.at_most_one_call = plan.tools.is_offered() && plan.tools.at_most_one;
  const auto& reasoning = choices.reply.format.reasoning;
  if (reasoning && text::opens_reasoning(prompt, *reasoning))
    choices.reply.reasoning_start = text::ReasoningStart::opened;

  const bool has_budget = reasoning && plan.thinking_tokens;
  const bool begins_held = holds_begun_calls(model, plan.tools);
  if (!must_call && !is_held && !has_budget && !begins_held && plan.bad_words.empty()) return;
  TokenRules rules = make_rules(call, plan, request);
  rules.may_open_reasoning = reasoning && may_think(prompt, *reasoning) &&
                             choices.reply.reasoning_start == text::ReasoningStart::closed;
  request.token_mask = token_mask_port(model.tokenizer, choices.reply, std::move(rules));
}

}  // namespace parhelion::app
