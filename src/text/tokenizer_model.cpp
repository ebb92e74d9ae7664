#include "text/tokenizer_model.h"

#include "base/error.h"
#include "text/normalize.h"
#include "text/utf8.h"

#include <string>
#include <utility>

namespace parhelion::text {
namespace {

TokenId find_merge_part(const Vocabulary& vocabulary, std::string_view bytes, std::string_view left,
                        std::string_view right, std::string_view where) {
  const std::optional<TokenId> id = vocabulary.find(TokenSpelling::byte_level, bytes);
  ensure(id.has_value(), ErrorKind::corrupt,
         "{}: merge '{} {}' needs a token which is not in the vocabulary", where, left, right);
  return *id;
}

SpelledToken read_merge_part(std::string_view written, std::string& storage,
                             std::string_view where) {
  ensure(find_invalid_utf8(written) == std::string_view::npos, ErrorKind::corrupt,
         "{}: a merge has no UTF-8", where);
  const SpelledToken token = read_token(written, storage);
  ensure(token.spelling == TokenSpelling::byte_level, ErrorKind::unsupported,
         "{}: merge part '{}' is not in the byte-level alphabet, which is not supported", where,
         written);
  return token;
}

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

void add_merge(TokenizerModel& model, std::string_view left, std::string_view right,
               std::int64_t rank, std::string_view where) {
  ensure(rank < Merge::kNone, ErrorKind::corrupt, "{}: has more than {} merges", where, rank);
  std::string storage;
  std::string both(read_merge_part(left, storage, where).bytes);
  const std::size_t left_bytes = both.size();
  both += read_merge_part(right, storage, where).bytes;
  const std::string_view bytes = both;
  const auto id = [&](std::string_view part) {
    return find_merge_part(model.vocabulary, part, left, right, where);
  };
  const TokenId left_id = id(bytes.substr(0, left_bytes));
  const TokenId right_id = id(bytes.substr(left_bytes));
  model.merges.add(left_id, right_id, {static_cast<std::int32_t>(rank), id(bytes)});
}

void add_merge(TokenizerModel& model, std::string_view pair, std::int64_t rank,
               std::string_view where) {
  const std::size_t space = pair.find(' ');
  ensure(space != std::string_view::npos && pair.find(' ', space + 1) == std::string_view::npos,
         ErrorKind::corrupt, "{}: merge '{}' is no pair with one space between", where, pair);
  add_merge(model, pair.substr(0, space), pair.substr(space + 1), rank, where);
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
