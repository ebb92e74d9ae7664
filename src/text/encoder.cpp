#include "text/encoder.h"

#include "base/error.h"
#include "text/byte_pair.h"
#include "text/normalize.h"
#include "text/tokenizer_model.h"
#include "text/utf8.h"
#include "text/word_cache.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace parhelion::text {
namespace {

/// Whether a part of the text has bytes of `plain_at`.
bool has_plain(std::span<const std::size_t> plain_at, std::string_view text,
               std::string_view part) {
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  const auto next = std::ranges::lower_bound(plain_at, begin);
  return next != plain_at.end() && *next < begin + part.size();
}

}  // namespace

/// The memory of an encoder and the steps of encoding.
struct EncoderState {
  EncoderState(Tokenizer given, std::size_t text_bytes)
      : tokenizer(std::move(given)), model(tokenizer.model()), cache(text_bytes) {}

  void encode_text(std::string_view text, const EncodeOptions& options);
  void encode_normalized(std::string_view text, SpecialText special_text);
  void encode_plain(std::string_view text);
  void encode_word(std::string_view word);
  void read_symbols(std::string_view word);

  Tokenizer tokenizer;
  const TokenizerModel& model;
  WordCache cache;
  BytePairMerger merger;
  std::vector<TokenId> word_ids;
  std::vector<TextPart> raw_parts;
  std::vector<TextPart> normalized_parts;
  std::string normalized;
  std::vector<TokenId>* out = nullptr;
};

void EncoderState::encode_text(std::string_view text, const EncodeOptions& options) {
  raw_parts.clear();
  model.raw_tokens.cut(text, options.special_text, options.plain_at, raw_parts);
  for (const TextPart& part : raw_parts) {
    if (part.id >= 0) {
      out->push_back(part.id);
    } else {
      // Normalisation moves bytes: a part that has a plain one has no special token.
      const bool is_plain = has_plain(options.plain_at, text, part.text);
      encode_normalized(part.text, is_plain ? SpecialText::plain : options.special_text);
    }
  }
}

void EncoderState::encode_normalized(std::string_view text, SpecialText special_text) {
  if (model.normalizes_nfc) text = normalize_nfc(text, normalized);
  if (model.normalized_tokens.empty()) return encode_plain(text);
  normalized_parts.clear();
  model.normalized_tokens.cut(text, special_text, {}, normalized_parts);
  for (const TextPart& part : normalized_parts) {
    if (part.id >= 0) {
      out->push_back(part.id);
    } else {
      encode_plain(part.text);
    }
  }
}

void EncoderState::encode_plain(std::string_view text) {
  auto take_word = [this](std::string_view word) { encode_word(word); };
  split_text(model.stages, text, take_word);
}

void EncoderState::encode_word(std::string_view word) {
  if (const auto known = cache.find(word)) {
    out->insert(out->end(), known->begin(), known->end());
    return;
  }
  word_ids.clear();
  if (model.ignores_merges) {
    const auto whole = model.vocabulary.find(TokenSpelling::byte_level, word);
    if (whole) word_ids.push_back(*whole);
  }
  if (word_ids.empty()) {
    read_symbols(word);
    merger.merge(model.merges, word_ids);
  }
  cache.put(word, word_ids);
  out->insert(out->end(), word_ids.begin(), word_ids.end());
}

void EncoderState::read_symbols(std::string_view word) {
  bool was_unknown = false;
  for (const char c : word) {
    const TokenId id = model.byte_ids[static_cast<unsigned char>(c)];
    const bool is_new = id >= 0 || !was_unknown || !model.fuses_unknown;
    was_unknown = id < 0;
    if (id >= 0) {
      word_ids.push_back(id);
    } else if (model.unknown && is_new) {
      word_ids.push_back(*model.unknown);
    }
  }
}

Encoder::Encoder(Tokenizer tokenizer, std::size_t text_bytes)
    : state_(std::make_unique<EncoderState>(std::move(tokenizer), text_bytes)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&& other) noexcept = default;
Encoder& Encoder::operator=(Encoder&& other) noexcept = default;

void Encoder::encode(std::string_view text, const EncodeOptions& options,
                     std::vector<TokenId>& ids) {
  ensure(text.size() < std::numeric_limits<std::int32_t>::max(), ErrorKind::invalid,
         "text: has {} bytes, expected fewer than 2^31 - 1", text.size());
  const std::size_t invalid = find_invalid_utf8(text);
  ensure(invalid == std::string_view::npos, ErrorKind::invalid, "text: byte {} is no UTF-8",
         invalid);
  const TokenizerModel& model = state_->model;
  std::vector<TokenId> made;
  if (options.frame == Frame::post_processor) made = model.prefix;
  state_->out = &made;
  state_->encode_text(text, options);
  if (options.frame == Frame::post_processor) {
    made.insert(made.end(), model.suffix.begin(), model.suffix.end());
  }
  if (options.frame == Frame::bos) {
    const auto bos = model.special_ids.bos;
    ensure(bos.has_value(), ErrorKind::invalid, "tokenizer: names no BOS token");
    if (made.empty() || made.front() != *bos) ids.push_back(*bos);
  }
  ids.insert(ids.end(), made.begin(), made.end());
}

}  // namespace parhelion::text
