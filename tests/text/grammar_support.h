#pragma once

#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"
#include "text/grammar/token_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::text {

/// A table whose token i is text i.
inline std::shared_ptr<const TokenTable> table_of(const std::vector<std::string>& texts) {
  std::vector<TokenTable::Token> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tokens.push_back({static_cast<TokenId>(i), texts[i]});
  }
  return std::make_shared<const TokenTable>(std::move(tokens));
}

/// A table of all bytes: token i is byte i.
inline std::shared_ptr<const TokenTable> byte_table() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return table_of(texts);
}

inline GrammarMatcher matcher_of(Grammar grammar, std::shared_ptr<const TokenTable> table,
                                 std::vector<TokenId> stop_ids = {}) {
  return {std::make_shared<const TokenGrammar>(std::move(grammar), std::move(table)),
          std::move(stop_ids)};
}

/// Whether the grammar has exactly this text.
inline bool matches(const Grammar& grammar, std::string_view text) {
  GrammarMatcher matcher = matcher_of(grammar, byte_table());
  for (const char byte : text) {
    if (!matcher.accept(static_cast<std::uint8_t>(byte))) return false;
  }
  return matcher.is_finished();
}

/// Whether a text of the grammar may begin so.
inline bool may_begin(const Grammar& grammar, std::string_view text) {
  GrammarMatcher matcher = matcher_of(grammar, byte_table());
  for (const char byte : text) {
    if (!matcher.accept(static_cast<std::uint8_t>(byte))) return false;
  }
  return true;
}

/// The tokens that may come next, in order.
inline std::vector<TokenId> allowed(GrammarMatcher& matcher, std::int64_t vocabulary_size) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>((vocabulary_size + 31) / 32));
  matcher.fill_mask(bits);
  std::vector<TokenId> ids;
  for (std::int64_t id = 0; id < vocabulary_size; ++id) {
    const bool is_set = (bits[static_cast<std::size_t>(id / 32)] >> (id % 32) & 1) != 0;
    if (is_set) ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

}  // namespace parhelion::text
