#include "text/tokenizer_model.h"

#include "base/error.h"
#include "text/normalize.h"
#include "text/utf8.h"

#include <string>
#include <utility>

namespace parhelion::text {
namespace {

void fill_byte_ids(TokenizerModel& model) {
  for (std::size_t byte = 0; byte < model.byte_ids.size(); ++byte) {
    const char text = static_cast<char>(static_cast<unsigned char>(byte));
    model.byte_ids[byte] =
        model.vocabulary.find(TokenSpelling::byte_level, {&text, 1}).value_or(-1);
  }
}

void take_into_vocabulary(TokenizerModel& model, const AddedToken& token, std::string_view where) {
  const std::optional<TokenId> known = model.vocabulary.find_written(token.content);
  ensure(!known || *known == token.id, ErrorKind::corrupt,
         "{}: added token '{}' has id {}, but {} in the vocabulary", where, token.content, token.id,
         known.value_or(-1));
  if (!known) model.vocabulary.add(token.content, token.id, where);
  if (token.special) model.vocabulary.mark_special(token.id);
}

}  // namespace

MergeBuilder::MergeBuilder(TokenizerModel& model, std::size_t merges, std::string_view where)
    : model_(model), where_(where) {
  model_.merges = MergeTable(merges);
}

std::string_view MergeBuilder::read_part(std::string_view written) {
  ensure(find_invalid_utf8(written) == std::string_view::npos, ErrorKind::corrupt,
         "{}: a merge has no UTF-8", where_);
  const SpelledToken token = read_token(written, part_);
  ensure(token.spelling == TokenSpelling::byte_level, ErrorKind::unsupported,
         "{}: merge part '{}' is not in the byte-level alphabet, which is not supported", where_,
         written);
  return token.bytes;
}

TokenId MergeBuilder::need_token(std::optional<TokenId> id, std::string_view left,
                                 std::string_view right) const {
  ensure(id.has_value(), ErrorKind::corrupt,
         "{}: merge '{} {}' needs a token which is not in the vocabulary", where_, left, right);
  return *id;
}

void MergeBuilder::add(std::string_view left, std::string_view right) {
  ensure(rank_ < Merge::kNone - 1, ErrorKind::corrupt, "{}: has more than {} merges", where_,
         rank_);
  const Vocabulary& vocabulary = model_.vocabulary;
  both_ = read_part(left);
  const auto left_id = vocabulary.find(TokenSpelling::byte_level, both_);
  const std::string_view right_bytes = read_part(right);
  const auto right_id = vocabulary.find(TokenSpelling::byte_level, right_bytes);
  both_ += right_bytes;
  if (vocabulary.is_byte_level(last_ + 1, both_)) {
    ++last_;
  } else if (!vocabulary.is_byte_level(last_, both_)) {
    last_ = need_token(vocabulary.find(TokenSpelling::byte_level, both_), left, right);
  }
  model_.merges.add(need_token(left_id, left, right), need_token(right_id, left, right),
                    {rank_++, last_});
}

void MergeBuilder::add(std::string_view pair) {
  const std::size_t space = pair.find(' ');
  ensure(space != std::string_view::npos && pair.find(' ', space + 1) == std::string_view::npos,
         ErrorKind::corrupt, "{}: merge '{}' is no pair with one space between", where_, pair);
  add(pair.substr(0, space), pair.substr(space + 1));
}

void complete_model(TokenizerModel& model, std::vector<AddedToken> added, std::string_view where) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (AddedToken& token : added) {
    if (token.content.empty()) continue;
    take_into_vocabulary(model, token, where);
    if (token.normalized && model.normalizes_nfc) {
      std::string storage;
      token.content = std::string(normalize_nfc(token.content, storage));
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  model.raw_tokens = AddedTokenMatcher(std::move(raw));
  model.normalized_tokens = AddedTokenMatcher(std::move(normalized));
  fill_byte_ids(model);
}

}  // namespace parhelion::text
