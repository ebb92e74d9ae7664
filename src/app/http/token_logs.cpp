#include "app/http/token_logs.h"

#include <algorithm>
#include <cmath>

namespace parhelion::app {
namespace {

constexpr double kLeastLog = -9999;

Json::Array bytes_of(const text::Tokenizer& tokenizer, std::int32_t id) {
  Json::Array bytes;
  if (!tokenizer.contains(id)) return bytes;
  for (const char c : tokenizer.token_bytes(id))
    bytes.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  return bytes;
}

Json::Object scored(const text::Tokenizer& tokenizer, const serve::ScoredToken& token) {
  return {{"token", token_text(tokenizer, token.id)},
          {"logprob", finite_log(token.log_probability)},
          {"bytes", bytes_of(tokenizer, token.id)}};
}

/// The likely tokens by their texts, and the token that was chosen; of two with one text the
/// likelier.
Json top_by_text(const text::Tokenizer& tokenizer, const TokenLog& log) {
  Json::Object top;
  const auto add = [&](const serve::ScoredToken& token) {
    const std::string text = token_text(tokenizer, token.id);
    const auto is_same = [&](const Json::Member& each) { return each.first == text; };
    if (std::ranges::none_of(top, is_same))
      top.emplace_back(text, finite_log(token.log_probability));
  };
  std::ranges::for_each(log.top, add);
  add(log.token);
  return top;
}

}  // namespace

double finite_log(float value) {
  return std::isfinite(value) ? std::max(kLeastLog, static_cast<double>(value)) : kLeastLog;
}

std::string token_text(const text::Tokenizer& tokenizer, std::int32_t id) {
  if (!tokenizer.contains(id)) return "\xEF\xBF\xBD";
  return tokenizer.decode(std::span(&id, 1));
}

Json chat_logs(const text::Tokenizer& tokenizer, std::span<const TokenLog> logs) {
  Json::Array content;
  for (const TokenLog& log : logs) {
    Json::Object entry = scored(tokenizer, log.token);
    Json::Array top;
    for (const serve::ScoredToken& token : log.top) top.push_back(scored(tokenizer, token));
    entry.emplace_back("top_logprobs", std::move(top));
    content.push_back(std::move(entry));
  }
  return Json::Object{{"content", std::move(content)}, {"refusal", nullptr}};
}

Json completion_logs(const text::Tokenizer& tokenizer, std::span<const TokenLog> logs,
                     std::int64_t offset) {
  Json::Array tokens;
  Json::Array values;
  Json::Array tops;
  Json::Array offsets;
  for (const TokenLog& log : logs) {
    const std::string text = token_text(tokenizer, log.token.id);
    offsets.emplace_back(offset);
    offset += static_cast<std::int64_t>(text.size());
    tokens.emplace_back(text);
    values.push_back(log.has_value ? Json(finite_log(log.token.log_probability)) : Json());
    tops.push_back(log.has_value ? top_by_text(tokenizer, log) : Json());
  }
  return Json::Object{{"tokens", std::move(tokens)},
                      {"token_logprobs", std::move(values)},
                      {"top_logprobs", std::move(tops)},
                      {"text_offset", std::move(offsets)}};
}

}  // namespace parhelion::app
