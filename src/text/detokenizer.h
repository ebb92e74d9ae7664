#pragma once

#include "text/tokenizer.h"

#include <string>
#include <utility>

namespace parhelion::text {

/// Turns tokens into text as they come, in whole characters. At most three bytes wait for the next
/// token. The pieces joined, with the flush, are what Tokenizer::decode gives. A copy goes on from
/// where the original stands.
class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, SpecialTokens special_tokens = SpecialTokens::keep)
      : tokenizer_(std::move(tokenizer)), special_tokens_(special_tokens) {}

  /// The text that is complete with this token; often empty.
  ///
  /// Errors: invalid if the id is not in the vocabulary; then the state is as it was.
  std::string push(TokenId id);

  /// What remains at the end: U+FFFD if the last character is incomplete.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  SpecialTokens special_tokens_;
  std::string waiting_;  // the beginning of a character
};

}  // namespace parhelion::text
