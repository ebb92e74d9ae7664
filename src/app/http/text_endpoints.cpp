#include "app/http/api_state.h"
#include "app/http/openai_format.h"
#include "app/http/tool_fields.h"

namespace parhelion::app {
namespace {

/// The prompt that /v1/chat/completions makes of the same messages and tools.
ChatPrompt read_chat(ApiCall& call, Fields& fields) {
  const Json messages = read_messages(fields);
  const Tools tools = read_chat_tools(fields, call.state.model);
  PromptOptions options = read_prompt_options(fields, call.state.model);
  if (tools.is_offered()) options.chat.tools = tools.list;
  return render_chat(call, messages, options);
}

}  // namespace

HandlerReply tokenize(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  std::vector<std::int32_t> ids;
  if (fields.has("messages")) {
    ids = read_chat(call, fields).ids;
  } else {
    const std::string text =
        fields.has("prompt") ? fields.required_text("prompt") : fields.required_text("content");
    const bool adds = fields.boolean("add_special_tokens", true);
    ids = encode_prompt(
        call, text,
        {.frame = adds && model.tokenizer.adds_bos() ? text::Frame::bos : text::Frame::none});
  }
  check_unknown(call, fields);
  const auto count = static_cast<std::int64_t>(ids.size());
  return json_reply(Json::Object{
      {"count", count}, {"max_model_len", model.context_tokens}, {"tokens", ids_json(ids)}});
}

HandlerReply detokenize(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const Json* tokens = fields.find("tokens");
  if (tokens == nullptr) refuse_value("tokens", "tokens: is missing, expected a list of token ids");
  const std::vector<std::int32_t> ids = read_ids(*tokens, "tokens", 1 << 20);
  check_unknown(call, fields);
  const std::string text = call.state.model.tokenizer.decode(ids);
  return json_reply(Json::Object{{"prompt", text}, {"content", text}});
}

HandlerReply apply_template(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ChatPrompt prompt = read_chat(call, fields);
  check_unknown(call, fields);
  return json_reply(Json::Object{{"prompt", prompt.text}});
}

}  // namespace parhelion::app
