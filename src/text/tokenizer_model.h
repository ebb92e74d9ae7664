#pragma once

#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Everything a tokenizer file says. Immutable once complete.
struct TokenizerModel {
  Vocabulary vocabulary;
  MergeTable merges;
  std::vector<SplitStage> stages;
  bool normalizes_nfc = false;
  bool ignores_merges = false;     ///< a word that is a token is that token
  std::optional<TokenId> unknown;  ///< stands for bytes without a token; without it they vanish
  bool fuses_unknown = false;      ///< one for a run of such bytes
  std::array<TokenId, 256> byte_ids{};  ///< -1 = no token for the byte
  AddedTokenMatcher raw_tokens;         ///< found before normalisation
  AddedTokenMatcher normalized_tokens;  ///< found behind it
  std::vector<TokenId> prefix;          ///< what the post-processor puts before a text
  std::vector<TokenId> suffix;          ///< and behind it
  SpecialIds special_ids;
};

/// Adds merges in the order of their ranks.
class MergeBuilder {
 public:
  /// `merges` is how many to expect; `where` names the source in errors.
  MergeBuilder(TokenizerModel& model, std::size_t merges, std::string_view where);

  /// Adds a merge of two tokens, written as in the vocabulary.
  ///
  /// Errors: corrupt if a part or the whole is not in the vocabulary; unsupported if a part is not
  /// in the byte-level alphabet.
  void add(std::string_view left, std::string_view right);
  /// Adds a merge written as two tokens with a space between.
  ///
  /// Errors: corrupt if it has another form; as of the other overload.
  void add(std::string_view pair);

 private:
  std::string_view read_part(std::string_view written);
  TokenId need_token(std::optional<TokenId> id, std::string_view left,
                     std::string_view right) const;

  TokenizerModel& model_;
  std::string_view where_;
  std::int32_t rank_ = 0;
  TokenId last_ = -1;  // what the last merge gave: the next one mostly gives this or the next token
  std::string part_;
  std::string both_;
};

/// Takes the added tokens into the vocabulary and fills what derives from it.
///
/// Errors: corrupt if an added token has another id in the vocabulary.
void complete_model(TokenizerModel& model, std::vector<AddedToken> added, std::string_view where);

}  // namespace parhelion::text
