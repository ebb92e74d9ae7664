#pragma once

#include "text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// A place in the tree of all tokens. Places lie in preorder: what follows a place and is deeper is
/// below it.
struct TokenPlace {
  std::int32_t end = 0;          ///< one past the last place below this one
  std::int32_t first_token = 0;  ///< of the tokens that end here
  std::int32_t token_count = 0;
  std::uint16_t depth = 0;  ///< bytes up to and with this place's
  std::uint8_t byte = 0;
  std::uint8_t groups_below = 0;  ///< a bit for the byte group of each place below
};

/// Bytes in eight groups, so that the bytes of a whole branch can be told at a glance: letters,
/// digits, spaces and so on, and those that often end what a rule reads.
int byte_group(std::uint8_t byte);

/// The tokens of a vocabulary as a tree by their bytes. Special tokens and those without bytes are
/// left out: no constrained text has them. Immutable; made once for a model.
class TokenTable {
 public:
  struct Token {
    TokenId id = 0;
    std::string_view bytes;
  };

  /// Errors: unsupported if a token is longer than 65,535 bytes.
  explicit TokenTable(std::vector<Token> tokens);

  std::span<const TokenPlace> places() const { return places_; }
  /// The tokens that end at a place.
  std::span<const TokenId> tokens_at(const TokenPlace& place) const {
    return std::span(tokens_).subspan(static_cast<std::size_t>(place.first_token),
                                      static_cast<std::size_t>(place.token_count));
  }
  /// The bytes of a token; empty for those left out and for ids that are not there.
  std::string_view bytes(TokenId id) const;
  /// The length of the longest token.
  std::int64_t max_token_bytes() const { return max_token_bytes_; }
  /// One more than the greatest id in the tree.
  std::int64_t token_id_end() const { return static_cast<std::int64_t>(spans_.size()); }

 private:
  struct Span {
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
  };
  void add_places(const std::vector<Token>& tokens);

  std::vector<TokenPlace> places_;
  std::vector<TokenId> tokens_;  // by their bytes
  std::vector<Span> spans_;      // by id
  std::string arena_;
  std::int64_t max_token_bytes_ = 0;
};

/// The table of a tokenizer's vocabulary.
std::shared_ptr<const TokenTable> make_token_table(const Tokenizer& tokenizer);

}  // namespace parhelion::text
