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

/// Reads texts byte by byte, each from the start.
class TextReader {
 public:
  explicit TextReader(Grammar grammar) : start_(matcher_of(std::move(grammar), byte_table())) {}

  /// Whether the grammar has exactly this text.
  bool matches(std::string_view text) const {
    GrammarMatcher matcher = start_;
    return (text.empty() || matcher.accept_bytes(text)) && matcher.is_finished();
  }
  /// Whether a text of the grammar may begin so.
  bool may_begin(std::string_view text) const {
    GrammarMatcher matcher = start_;
    return text.empty() || matcher.accept_bytes(text);
  }

 private:
  GrammarMatcher start_;
};

inline bool matches(const Grammar& grammar, std::string_view text) {
  return TextReader(grammar).matches(text);
}
inline bool may_begin(const Grammar& grammar, std::string_view text) {
  return TextReader(grammar).may_begin(text);
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
