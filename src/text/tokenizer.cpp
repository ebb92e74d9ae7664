#include "text/tokenizer.h"

#include "base/error.h"
#include "text/detokenizer.h"
#include "text/encoder.h"
#include "text/tokenizer_model.h"

#include <algorithm>

namespace parhelion::text {

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  Encoder(*this, text.size()).encode(text, options, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special_tokens) const {
  Detokenizer detokenizer(*this, special_tokens);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

std::int64_t Tokenizer::vocabulary_size() const { return model_->vocabulary.size(); }

bool Tokenizer::contains(std::int64_t id) const { return model_->vocabulary.contains(id); }

std::optional<std::string> Tokenizer::special_text(std::optional<TokenId> id) const {
  if (!id) return std::nullopt;
  return std::string(token_bytes(*id));
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  ensure(contains(id), ErrorKind::invalid, "token id {} is not in the vocabulary of {} tokens", id,
         vocabulary_size());
  return model_->vocabulary.bytes(id);
}

bool Tokenizer::is_special(TokenId id) const {
  ensure(contains(id), ErrorKind::invalid, "token id {} is not in the vocabulary of {} tokens", id,
         vocabulary_size());
  return model_->vocabulary.is_special(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view written) const {
  return model_->vocabulary.find_written(written);
}

const SpecialIds& Tokenizer::special_ids() const { return model_->special_ids; }

bool Tokenizer::adds_bos() const {
  const auto& prefix = model_->prefix;
  return model_->special_ids.bos &&
         std::find(prefix.begin(), prefix.end(), *model_->special_ids.bos) != prefix.end();
}

}  // namespace parhelion::text
