#pragma once

#include "text/vocabulary.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// A token which is found in the text before anything else happens to it.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool special = false;
  bool strips_left = false;   ///< takes the white space before it
  bool strips_right = false;  ///< takes the white space behind it
  bool single_word = false;   ///< only between characters that are of no word
  bool normalized = false;    ///< found in the normalised text
};

/// Whether a token says what a text is to the model, such as where a turn begins: those that are
/// special, and those that are written like `<|user|>`, which some vocabularies do not call so.
inline bool is_control(const AddedToken& token) {
  return token.special || token.content.starts_with("<|") || token.content.starts_with("<\uff5c");
}

/// A part of a text: an added token, or what stands between two.
struct TextPart {
  std::string_view text;
  TokenId id = -1;  ///< -1 = no added token
};

/// Finds added tokens: at each place the longest, from left to right.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;
  /// Tokens with empty content are never found.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  std::span<const AddedToken> tokens() const { return tokens_; }

  /// Cuts `text` into parts, appended to `parts`. With SpecialText::plain a special token is passed
  /// over where it stands, and at the bytes `plain_at`, ascending, a control token.
  void cut(std::string_view text, SpecialText special_text, std::span<const std::size_t> plain_at,
           std::vector<TextPart>& parts) const;

 private:
  struct Node {
    std::int32_t first_child = -1;
    std::int32_t next_sibling = -1;
    std::int32_t token = -1;
    char byte = 0;
  };

  std::int32_t find_child(std::int32_t node, char byte) const;
  void insert(std::int32_t token);
  const AddedToken* match_at(std::string_view text, std::size_t at) const;
  std::size_t find_first_byte(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace parhelion::text
