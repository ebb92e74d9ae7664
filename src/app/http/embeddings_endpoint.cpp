#include "app/http/api_state.h"
#include "app/http/embedding_source.h"
#include "app/http/sampling_fields.h"

#include <algorithm>

namespace parhelion::app {
namespace {

constexpr std::int64_t kMostTexts = 2048;

std::vector<std::int32_t> embedded_text(ApiCall& call, const std::string& text) {
  if (text.empty()) refuse_value("input", "input: has an empty text");
  return encode_prompt(call, text, {.frame = text::Frame::post_processor});
}

std::vector<std::int32_t> embedded_item(ApiCall& call, const Json& item) {
  if (item.is_string()) return embedded_text(call, item.as_string("input"));
  std::vector<std::int32_t> ids = read_ids(item, "input", 1 << 22);
  if (ids.empty()) refuse_value("input", "input: has an empty list of ids");
  return ids;
}

/// One text, texts, ids, or lists of ids.
std::vector<std::vector<std::int32_t>> read_input_texts(ApiCall& call, Fields& fields) {
  const Json* input = fields.find("input");
  if (input == nullptr) refuse_value("input", "input: is missing");
  if (input->is_string()) return {embedded_item(call, *input)};
  if (!input->is_array() || input->as_array("input").empty())
    refuse_value("input", "input: expected a text, texts, ids or lists of ids");
  const Json::Array& items = input->as_array("input");
  if (items.front().is_number()) return {embedded_item(call, *input)};
  if (std::ssize(items) > kMostTexts)
    refuse_value("input",
                 fmt::format("input: has {} texts, expected at most {}", items.size(), kMostTexts));
  std::vector<std::vector<std::int32_t>> texts;
  for (const Json& item : items) {
    if (item.is_string() != items.front().is_string())
      refuse_value("input", "input: mixes texts and lists of ids");
    texts.push_back(embedded_item(call, item));
  }
  return texts;
}

/// Cuts texts where the request says so, else refuses those that are too long.
void fit_texts(std::optional<std::int64_t> most, std::int64_t context,
               std::vector<std::vector<std::int32_t>>& texts) {
  for (std::vector<std::int32_t>& ids : texts) {
    if (most && std::ssize(ids) > *most) ids.erase(ids.begin(), ids.end() - *most);
    if (std::ssize(ids) > context)
      refuse(400, "context_length_exceeded",
             fmt::format("input: text {} has {} tokens, the context holds {}", &ids - texts.data(),
                         ids.size(), context),
             "input");
  }
}

std::int64_t read_dimension(Fields& fields, const ServedModel& model) {
  const std::int64_t width = model.embedding_width;
  const std::int64_t asked = fields.integer("dimensions", 1, width).value_or(width);
  const std::vector<std::int64_t>& known = model.embedding->dimensions;
  if (asked == width || std::ranges::find(known, asked) != known.end()) return asked;
  const std::string others =
      known.empty() ? "" : fmt::format(" or one of {}", fmt::join(known, ", "));
  refuse_value("dimensions", fmt::format("dimensions: is {}, expected {}{}", asked, width, others));
}

VectorText read_vector_text(Fields& fields) {
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64")
    refuse_value("encoding_format", "encoding_format: expected float or base64");
  return format == "base64" ? VectorText::base64 : VectorText::numbers;
}

}  // namespace

HandlerReply embeddings(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  if (!model.embedding) refuse_feature("model", "the model has no program for embeddings");
  EmbeddingPlan plan;
  plan.prompts = read_input_texts(call, fields);
  fit_texts(fields.integer("truncate_prompt_tokens", 1, model.context_tokens), model.context_tokens,
            plan.prompts);
  plan.dimension = read_dimension(fields, model);
  plan.normalises = model.embedding->normalises;
  plan.text = read_vector_text(fields);
  plan.time = read_answer_options(call, fields).time;
  plan.fairness_key = fairness_key(call.request.label);
  accept_idle_fields(fields);
  check_unknown(call, fields);
  HandlerReply reply;
  reply.source = make_embedding_source(call, std::move(plan));
  return reply;
}

}  // namespace parhelion::app
