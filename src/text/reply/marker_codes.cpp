#include "text/reply/marker_codes.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

/// Bytes that stand in no UTF-8 text.
constexpr std::string_view kCodes = "\xF5\xF6\xF7\xF8\xF9\xFA\xFB\xFC\xFD\xFE\xFF\xC0\xC1";

void replace_marker(std::string& text, const std::string& marker, char code) {
  for (std::size_t at = text.find(marker); at != std::string::npos; at = text.find(marker, at)) {
    text.replace(at, marker.size(), 1, code);
  }
}

}  // namespace

MarkerCodes::MarkerCodes(const Tokenizer& tokenizer, const ReplyFormat& format,
                         SpecialTokens special_tokens) {
  if (format.reasoning) {
    add(tokenizer, format.reasoning->open, special_tokens);
    add(tokenizer, format.reasoning->close, special_tokens);
  }
  if (!format.tools) return;
  for (const std::string& marker : format.tools->tokens) add(tokenizer, marker, special_tokens);
}

void MarkerCodes::add(const Tokenizer& tokenizer, const std::string& marker,
                      SpecialTokens special_tokens) {
  const std::optional<TokenId> id = marker.empty() ? std::nullopt : tokenizer.find(marker);
  if (!id || find(*id)) return;
  ensure(codes_.size() < kCodes.size(), ErrorKind::bug, "reply format has more than {} tokens",
         kCodes.size());
  const bool is_shown = special_tokens == SpecialTokens::keep || !tokenizer.is_special(*id);
  codes_.push_back({*id, marker, is_shown});
}

std::optional<char> MarkerCodes::find(TokenId id) const {
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    if (codes_[i].id == id) return kCodes[i];
  }
  return std::nullopt;
}

std::string MarkerCodes::encode(std::string text) const {
  for (std::size_t i = 0; i < codes_.size(); ++i) replace_marker(text, codes_[i].text, kCodes[i]);
  return text;
}

ReplyFormat MarkerCodes::encode(ReplyFormat format) const {
  const auto encode_all = [this](auto&... texts) { ((texts = encode(std::move(texts))), ...); };
  if (format.reasoning) encode_all(format.reasoning->open, format.reasoning->close);
  if (!format.tools) return format;
  ToolFormat& tools = *format.tools;
  for (auto* markers :
       {&tools.opens, &tools.section_opens, &tools.section_closes, &tools.dropped}) {
    for (std::string& marker : *markers) encode_all(marker);
  }
  encode_all(tools.close, tools.name_end, tools.key_open, tools.key_end, tools.value_open,
             tools.value_close);
  return format;
}

std::string MarkerCodes::decode(std::string_view text) const {
  std::string out;
  for (const char c : text) {
    const std::size_t index = kCodes.find(c);
    if (index >= codes_.size()) {
      out += c;
    } else if (codes_[index].is_shown) {
      out += codes_[index].text;
    }
  }
  return out;
}

}  // namespace parhelion::text
