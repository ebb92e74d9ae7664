#pragma once

#include "text/chat_template.h"
#include "text/encoder.h"
#include "text/tokenizer.h"
#include "train/data/row.h"
#include "train/data/source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// What a model knows of text.
struct TokenRules {
  text::Tokenizer tokenizer;
  std::string tokenizer_digest;      ///< tells definitions apart, such as a hash of the file
  std::optional<text::TokenId> eos;  ///< ends a text and a completion; absent: nothing does
  std::int64_t vocabulary = 0;       ///< ids the model has embeddings for
  std::optional<std::string> chat_template;  ///< what rows with messages need
};

/// Tokens [begin, end) of a document.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const TokenRange&) const = default;
};

/// A document in tokens.
struct TokenisedRow {
  std::vector<text::TokenId> ids = {};
  std::vector<TokenRange> learnt = {};  ///< ascending; tokens that the model shall learn to predict
  bool operator==(const TokenisedRow&) const = default;
};

/// Turns rows into tokens as generation would see them: a BOS first where the tokenizer expects
/// one, and what the model would have to answer encoded apart from what it is asked. Special tokens
/// written in a row are tokens.
///
/// Threads: one at a time; any number may share rules.
class RowTokeniser {
 public:
  explicit RowTokeniser(const TokenRules& rules);

  /// Errors: invalid if a text is no UTF-8 or the row needs a chat template and there is none; as
  /// of
  ///         cut_chat and text::Encoder.
  TokenisedRow tokenise(const Row& row);
  /// The same of bytes of a file. Errors: also as of parse_row.
  TokenisedRow tokenise(const RawRow& row);

 private:
  TokenisedRow tokenise_text(std::string_view text);
  TokenisedRow tokenise_completion(const CompletionRow& row);
  TokenisedRow tokenise_chat(const ChatRow& row);
  void encode_first(std::string_view text, TokenisedRow& row);
  void encode_next(std::string_view text, TokenisedRow& row);
  void end_with_eos(TokenisedRow& row) const;
  const text::ChatTemplate& chat_template();

  TokenRules rules_;
  text::Encoder encoder_;
  std::optional<text::ChatTemplate> chat_template_;  // parsed when a row needs it
};

}  // namespace parhelion::train
