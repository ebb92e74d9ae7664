#include "text/gguf_vocabulary.h"

#include "base/error.h"
#include "text/tokenizer_model.h"

#include <array>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kGguf = "GGUF vocabulary";

enum class GgufWords : std::uint8_t { gpt2, digits_then_gpt2, llama3, qwen2, qwen35 };

/// What a value of tokenizer.ggml.pre stands for.
struct GgufPreTokenizer {
  std::string_view pre;
  GgufWords words = GgufWords::gpt2;
  bool normalizes_nfc = false;
  bool ignores_merges = false;
  bool adds_bos = false;
};

constexpr std::array kGgufPreTokenizers = {
    GgufPreTokenizer{.pre = "gpt-2"},
    GgufPreTokenizer{.pre = "phi-2"},
    GgufPreTokenizer{.pre = "smollm", .words = GgufWords::digits_then_gpt2},
    GgufPreTokenizer{.pre = "starcoder", .words = GgufWords::digits_then_gpt2},
    GgufPreTokenizer{.pre = "refact", .words = GgufWords::digits_then_gpt2},
    GgufPreTokenizer{
        .pre = "command-r", .words = GgufWords::digits_then_gpt2, .normalizes_nfc = true},
    GgufPreTokenizer{
        .pre = "llama-bpe", .words = GgufWords::llama3, .ignores_merges = true, .adds_bos = true},
    GgufPreTokenizer{
        .pre = "llama3", .words = GgufWords::llama3, .ignores_merges = true, .adds_bos = true},
    GgufPreTokenizer{
        .pre = "llama-v3", .words = GgufWords::llama3, .ignores_merges = true, .adds_bos = true},
    GgufPreTokenizer{.pre = "qwen2", .words = GgufWords::qwen2, .normalizes_nfc = true},
    GgufPreTokenizer{.pre = "deepseek-r1-qwen", .words = GgufWords::qwen2, .normalizes_nfc = true},
    GgufPreTokenizer{.pre = "qwen35", .words = GgufWords::qwen35, .normalizes_nfc = true},
};

const GgufPreTokenizer& find_pre_tokenizer(std::string_view pre) {
  for (const GgufPreTokenizer& known : kGgufPreTokenizers) {
    if (known.pre == pre) return known;
  }
  fail(ErrorKind::unsupported, "{}: pre-tokeniser '{}' is not supported", kGguf, pre);
}

std::vector<SplitStage> word_stages(GgufWords words) {
  switch (words) {
    case GgufWords::gpt2:
      return {Gpt2Words{}};
    case GgufWords::digits_then_gpt2:
      return {DigitRuns{.individual = true}, Gpt2Words{}};
    case GgufWords::llama3:
      return {Llama3Words{.max_digits = 3}};
    case GgufWords::qwen2:
      return {Llama3Words{.max_digits = 1}};
    case GgufWords::qwen35:
      return {Llama3Words{.max_digits = 1, .marks_in_words = true}};
  }
  return {};
}

/// Control tokens are special; user-defined ones are found in the text too but are ordinary text.
std::vector<AddedToken> collect_added_tokens(const GgufVocabulary& gguf) {
  constexpr std::int32_t kControl = 3;
  constexpr std::int32_t kUserDefined = 4;
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < gguf.token_types.size(); ++i) {
    const std::int32_t type = gguf.token_types[i];
    if (type != kControl && type != kUserDefined) continue;
    added.push_back(
        {.content = gguf.tokens[i], .id = static_cast<TokenId>(i), .special = type == kControl});
  }
  return added;
}

std::optional<TokenId> check_role(std::optional<std::int64_t> id, std::string_view role,
                                  const Vocabulary& vocabulary) {
  if (!id) return std::nullopt;
  ensure(vocabulary.contains(*id), ErrorKind::corrupt, "{}: {} id {} is not in the vocabulary",
         kGguf, role, *id);
  return static_cast<TokenId>(*id);
}

void set_roles(const GgufVocabulary& gguf, bool adds_bos, TokenizerModel& model) {
  const Vocabulary& vocabulary = model.vocabulary;
  model.special_ids = {.bos = check_role(gguf.bos_id, "BOS", vocabulary),
                       .eos = check_role(gguf.eos_id, "EOS", vocabulary),
                       .unk = check_role(gguf.unk_id, "unknown", vocabulary),
                       .pad = check_role(gguf.pad_id, "padding", vocabulary)};
  const SpecialIds& ids = model.special_ids;
  if (gguf.add_bos.value_or(adds_bos) && ids.bos) model.prefix = {*ids.bos};
  if (gguf.add_eos.value_or(false) && ids.eos) model.suffix = {*ids.eos};
}

}  // namespace

Tokenizer load_gguf_vocabulary(const GgufVocabulary& gguf) {
  ensure(gguf.model == "gpt2", ErrorKind::unsupported, "{}: tokenizer model '{}' is not supported",
         kGguf, gguf.model);
  ensure(gguf.token_types.empty() || gguf.token_types.size() == gguf.tokens.size(),
         ErrorKind::corrupt, "{}: has {} token types, expected one for each of {} tokens", kGguf,
         gguf.token_types.size(), gguf.tokens.size());
  const GgufPreTokenizer& pre = find_pre_tokenizer(gguf.pre);
  auto model = std::make_shared<TokenizerModel>();
  model->stages = word_stages(pre.words);
  model->normalizes_nfc = pre.normalizes_nfc;
  model->ignores_merges = pre.ignores_merges;
  model->vocabulary = Vocabulary(gguf.tokens.size());
  std::int64_t id = 0;
  for (const std::string& token : gguf.tokens) model->vocabulary.add(token, id++, kGguf);
  MergeBuilder merges(*model, gguf.merges.size(), kGguf);
  for (const std::string& pair : gguf.merges) merges.add(pair);
  complete_model(*model, collect_added_tokens(gguf), kGguf);
  set_roles(gguf, pre.adds_bos, *model);
  return Tokenizer(std::move(model));
}

}  // namespace parhelion::text
