#include "app/http/openai_format.h"

namespace parhelion::app {

std::string with_extra(Json::Object object, std::string_view extra) {
  std::string text = write_json(std::move(object));
  text.insert(text.size() - 1, extra);
  return text;
}

Json ids_json(const std::vector<std::int32_t>& ids) {
  Json::Array list;
  list.reserve(ids.size());
  for (const std::int32_t id : ids) list.emplace_back(std::int64_t{id});
  return list;
}

Json openai_usage(const Usage& usage) {
  return Json::Object{
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.completion_tokens},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
      {"prompt_tokens_details", Json::Object{{"cached_tokens", usage.cached_tokens}}},
      {"completion_tokens_details", Json::Object{{"reasoning_tokens", usage.reasoning_tokens}}}};
}

std::string_view openai_finish(ChoiceEnd end) {
  if (end == ChoiceEnd::length) return "length";
  return end == ChoiceEnd::tool_calls ? "tool_calls" : "stop";
}

void append_openai_failure(const ApiError& error, std::string& out) {
  out += "event: error\ndata: " + error_body(error, ApiDialect::openai, {}) + "\n\n";
}

}  // namespace parhelion::app
