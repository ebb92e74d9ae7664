#include "app/http/api_state.h"
#include "app/http/openai_format.h"

namespace parhelion::app {
namespace {

Json value_range(const contract::SamplingValue& value) {
  return Json::Object{
      {"standard", value.standard}, {"lowest", value.lowest}, {"highest", value.highest}};
}

Json sampling_ranges(const contract::SamplingPolicy& policy) {
  return Json::Object{{"temperature", value_range(policy.temperature)},
                      {"top_k", value_range(policy.top_k)},
                      {"top_p", value_range(policy.top_p)},
                      {"min_p", value_range(policy.min_p)},
                      {"repetition_penalty", value_range(policy.repetition_penalty)},
                      {"presence_penalty", value_range(policy.presence_penalty)},
                      {"frequency_penalty", value_range(policy.frequency_penalty)},
                      {"max_tokens", policy.max_tokens}};
}

}  // namespace

HandlerReply show_core(ApiCall& call) {
  const ServedModel& model = call.state.model;
  const text::ReplyFormat& format = model.reply_format;
  Json::Object core = {
      {"id", model.id},
      {"fingerprint", model.fingerprint},
      {"context_tokens", model.context_tokens},
      {"vocabulary", model.vocabulary},
      {"most_sequences", model.most_sequences},
      {"stop_token_ids", ids_json(model.stop_ids)},
      {"sampling", sampling_ranges(model.sampling)},
      {"chat_template", model.chat_template.has_value()},
      {"reasoning_format", format.reasoning ? Json(format.reasoning->name) : Json()},
      {"tool_format", format.tools ? Json(format.tools->name) : Json()}};
  const Json::Object& facts = model.facts.as_object("facts");
  core.insert(core.end(), facts.begin(), facts.end());
  return json_reply(std::move(core));
}

}  // namespace parhelion::app
