#pragma once

#include "text/tokenizer.h"

#include <string>
#include <utility>

namespace parhelion::text {

/// What becomes of an id that the tokenizer does not have. Models often have more ids than their
/// tokenizer, and may draw them.
enum class UnknownIds : std::uint8_t { refuse, replace };

/// Turns tokens into text as they come, in whole characters. At most three bytes wait for the next
/// token. The pieces joined, with the flush, are what Tokenizer::decode gives. A copy goes on from
/// where the original stands.
class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, SpecialTokens special_tokens = SpecialTokens::keep,
                       UnknownIds unknown_ids = UnknownIds::refuse)
      : tokenizer_(std::move(tokenizer)),
        special_tokens_(special_tokens),
        unknown_ids_(unknown_ids) {}

  /// The text that is complete with this token; often empty. An unknown id that is replaced is
  /// U+FFFD.
  ///
  /// Errors: invalid if the id is not in the vocabulary and such are refused; then the state is as
  ///         it was.
  std::string push(TokenId id);

  /// What remains at the end: U+FFFD if the last character is incomplete.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  SpecialTokens special_tokens_;
  UnknownIds unknown_ids_;
  std::string waiting_;  // the beginning of a character
};

}  // namespace parhelion::text
