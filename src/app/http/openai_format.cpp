#include "app/http/openai_format.h"

namespace parhelion::app {

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
