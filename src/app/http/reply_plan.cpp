#include "app/http/api_state.h"
#include "app/http/engine_ports.h"

namespace parhelion::app {
namespace {

/// A call as the grammar makes it: an object and nothing else.
text::ToolFormat enforced_format() {
  return {.name = "enforced", .kind = text::ToolCallKind::json_object, .is_bare = true};
}

/// The formats that a reply may have.
text::ReplyFormat reply_format(const ServedModel& model, const Tools& tools) {
  text::ReplyFormat format = model.reply_format;
  if (tools.choice == ToolChoice::none) format.tools.reset();
  if (tools.choice == ToolChoice::must) format.tools = enforced_format();
  return format;
}

}  // namespace

void apply_reply_plan(ApiCall& call, const ReplyPlan& plan, std::string_view prompt,
                      ChoiceOptions& choices, serve::Request& request) {
  const ServedModel& model = call.state.model;
  const bool must_call = plan.tools.choice == ToolChoice::must;
  if (must_call && plan.constraint.kind != Constraint::Kind::none)
    refuse_value("tool_choice",
                 "tool_choice: a call that must be made and a format exclude each other");
  const Constraint constraint = must_call ? call_constraint(plan.tools) : plan.constraint;

  // A raw prompt has no conversation whose formats could be read.
  if (!prompt.empty()) choices.reply.format = reply_format(model, plan.tools);
  choices.reply.tools = plan.tools.list;
  choices.at_most_one_call = plan.tools.is_offered() && plan.tools.at_most_one;
  const auto& reasoning = choices.reply.format.reasoning;
  if (reasoning && text::opens_reasoning(prompt, *reasoning))
    choices.reply.reasoning_start = text::ReasoningStart::opened;

  const bool is_free = constraint.kind == Constraint::Kind::none;
  if (is_free && !(reasoning && plan.thinking_tokens)) return;
  const auto begin = ApiClock::now();
  TokenRules rules;
  rules.grammar = call.state.constraints.compile(constraint);
  rules.stop_ids = model.stop_ids;
  rules.thinking_tokens = plan.thinking_tokens;
  call.state.metrics.grammar_compile.observe(
      std::chrono::duration<double>(ApiClock::now() - begin).count());
  rules.stop_ids.insert(rules.stop_ids.end(), request.stop_ids.begin(), request.stop_ids.end());
  request.token_mask = token_mask_port(model.tokenizer, choices.reply, std::move(rules));
}

}  // namespace parhelion::app
