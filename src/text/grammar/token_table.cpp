#include "text/grammar/token_table.h"

#include "base/error.h"

#include <algorithm>
#include <limits>

namespace parhelion::text {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

}  // namespace

int byte_group(std::uint8_t byte) {
  const char c = static_cast<char>(byte);
  if (c >= 'a' && c <= 'z') return 0;
  if (c >= 'A' && c <= 'Z') return 1;
  if (c >= '0' && c <= '9') return 2;
  if (c == ' ' || c == '_' || c == '-') return 3;
  if (byte >= 0x80) return 4;
  if (c == '"' || c == '\\') return 5;
  return byte < ' ' ? 6 : 7;
}

TokenTable::TokenTable(std::vector<Token> tokens) {
  std::erase_if(tokens, [](const Token& token) { return token.bytes.empty(); });
  std::sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  for (const Token& token : tokens) {
    const std::size_t bytes = token.bytes.size();
    ensure(bytes <= std::numeric_limits<std::uint16_t>::max(), ErrorKind::unsupported,
           "token {}: {} bytes, expected at most 65535", token.id, bytes);
    const auto id = static_cast<std::size_t>(token.id);
    if (spans_.size() <= id) spans_.resize(id + 1);
    spans_[id] = {static_cast<std::uint32_t>(arena_.size()), static_cast<std::uint32_t>(bytes)};
    arena_ += token.bytes;
    max_token_bytes_ = std::max(max_token_bytes_, static_cast<std::int64_t>(bytes));
  }
  add_places(tokens);
}

void TokenTable::add_places(const std::vector<Token>& tokens) {
  std::vector<std::size_t> path;  // the place of each byte of the last token
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      TokenPlace& place = places_[path.back()];
      place.end = static_cast<std::int32_t>(places_.size());
      if (path.size() < 2) continue;
      TokenPlace& above = places_[path[path.size() - 2]];
      above.groups_below |=
          static_cast<std::uint8_t>(place.groups_below | 1 << byte_group(place.byte));
    }
  };
  std::string_view last;
  for (const Token& token : tokens) {
    close(common_prefix(last, token.bytes));
    while (path.size() < token.bytes.size()) {
      const char byte = token.bytes[path.size()];
      path.push_back(places_.size());
      places_.push_back({.first_token = static_cast<std::int32_t>(tokens_.size()),
                         .depth = static_cast<std::uint16_t>(path.size()),
                         .byte = static_cast<std::uint8_t>(byte)});
    }
    ++places_[path.back()].token_count;
    tokens_.push_back(token.id);
    last = token.bytes;
  }
  close(0);
}

std::string_view TokenTable::bytes(TokenId id) const {
  if (id < 0 || id >= token_id_end()) return {};
  const Span span = spans_[static_cast<std::size_t>(id)];
  return std::string_view(arena_).substr(span.at, span.bytes);
}

std::shared_ptr<const TokenTable> make_token_table(const Tokenizer& tokenizer) {
  std::vector<TokenTable::Token> tokens;
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.contains(id) || tokenizer.is_special(id)) continue;
    tokens.push_back({id, tokenizer.token_bytes(id)});
  }
  return std::make_shared<const TokenTable>(std::move(tokens));
}

}  // namespace parhelion::text
