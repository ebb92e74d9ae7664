#pragma once

#include "text/reply/reply_format.h"
#include "text/tokenizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Gives each marker that is one token of a tokenizer a byte that no UTF-8 text has. Formats and
/// replies in which these bytes stand for the markers tell a marker from the same text made of
/// other tokens.
class MarkerCodes {
 public:
  MarkerCodes(const Tokenizer& tokenizer, const ReplyFormat& format, SpecialTokens special_tokens);

  /// The byte of a marker's token.
  std::optional<char> find(TokenId id) const;
  /// With bytes for the markers that are tokens.
  std::string encode(std::string text) const;
  ReplyFormat encode(ReplyFormat format) const;
  /// With the markers' text for the bytes; without those of special tokens if they are skipped.
  std::string decode(std::string_view text) const;

 private:
  struct Code {
    TokenId id = -1;
    std::string text;
    bool is_shown = true;
  };

  void add(const Tokenizer& tokenizer, const std::string& marker, SpecialTokens special_tokens);

  std::vector<Code> codes_;
};

}  // namespace parhelion::text
