#pragma once

#include "text/byte_level.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Tokens by id and by bytes. All bytes lie in one arena, the index is one flat table.
class Vocabulary {
 public:
  /// Makes room for `tokens` tokens.
  explicit Vocabulary(std::size_t tokens = 0);

  /// Adds a token as its vocabulary writes it. `where` names the source in errors.
  ///
  /// Errors: corrupt if the id is negative, far above the number of tokens, or taken, if the token
  /// is there already, or if it is no UTF-8.
  void add(std::string_view written, std::int64_t id, std::string_view where);

  /// The id of a token by the bytes it stands for.
  std::optional<TokenId> find(TokenSpelling spelling, std::string_view bytes) const;
  /// The id of a token as its vocabulary writes it.
  std::optional<TokenId> find_written(std::string_view written) const;

  bool contains(std::int64_t id) const;
  /// Whether `id` is the token that is written in the byte-level alphabet and stands for `bytes`.
  bool is_byte_level(std::int64_t id, std::string_view bytes) const;
  /// The bytes a token stands for; it must exist.
  std::string_view bytes(TokenId id) const;

  void mark_special(TokenId id) { tokens_[static_cast<std::size_t>(id)].is_special = true; }
  bool is_special(TokenId id) const { return tokens_[static_cast<std::size_t>(id)].is_special; }

  /// One more than the greatest id.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  struct Token {
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
    bool exists = false;
    bool is_special = false;
    TokenSpelling spelling = TokenSpelling::literal;
  };
  struct Slot {
    std::uint32_t tag = 0;  // the upper half of the hash
    TokenId id = -1;        // -1 = free
  };

  std::size_t find_slot(TokenSpelling spelling, std::string_view bytes, std::uint64_t hash) const;
  void grow();

  std::size_t expected_ = 0;
  std::size_t count_ = 0;
  std::string arena_;
  std::vector<Token> tokens_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace parhelion::text
