#include "text/gguf_to_json.h"

#include "base/error.h"
#include "base/json.h"
#include "text/tokenizer_model.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace parhelion::text {
namespace {

enum class ByteLevelWords : std::uint8_t { none, gpt2 };

Json byte_level_json(ByteLevelWords words) {
  return Json::Object{{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", words == ByteLevelWords::gpt2}};
}

/// The component of one stage. A GGUF file asks for no others.
Json split_stage_json(const SplitStage& stage) {
  if (std::holds_alternative<Gpt2Words>(stage)) return byte_level_json(ByteLevelWords::gpt2);
  if (const auto* digits = std::get_if<DigitRuns>(&stage))
    return Json::Object{{"type", "Digits"}, {"individual_digits", digits->individual}};
  const auto* words = std::get_if<Llama3Words>(&stage);
  ensure(words != nullptr, ErrorKind::bug, "GGUF vocabulary: has a stage of another kind");
  return Json::Object{{"type", "Split"},
                      {"pattern", Json::Object{{"Regex", pattern_of(*words)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
}

/// The stages one after another, the last of which turns pieces into bytes.
Json pre_tokenizer_json(std::span<const SplitStage> stages) {
  Json::Array list;
  for (const SplitStage& stage : stages) list.push_back(split_stage_json(stage));
  if (!std::holds_alternative<Gpt2Words>(stages.back()))
    list.push_back(byte_level_json(ByteLevelWords::none));
  if (list.size() == 1) return std::move(list.front());
  return Json::Object{{"type", "Sequence"}, {"pretokenizers", std::move(list)}};
}

Json added_token_json(const AddedToken& token) {
  return Json::Object{{"id", std::int64_t{token.id}},     {"content", token.content},
                      {"single_word", token.single_word}, {"lstrip", token.strips_left},
                      {"rstrip", token.strips_right},     {"normalized", token.normalized},
                      {"special", token.special}};
}

Json model_json(const GgufVocabulary& gguf, const TokenizerModel& model) {
  Json::Object vocabulary;
  vocabulary.reserve(gguf.tokens.size());
  for (const std::string& token : gguf.tokens)
    vocabulary.emplace_back(token, static_cast<std::int64_t>(vocabulary.size()));
  Json::Array merges(gguf.merges.begin(), gguf.merges.end());
  return Json::Object{{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", model.ignores_merges},
                      {"vocab", std::move(vocabulary)},
                      {"merges", std::move(merges)}};
}

/// What a template puts around one text, which is called `sequence` there.
void add_framed_text(const GgufVocabulary& gguf, const TokenizerModel& model,
                     std::string_view sequence, std::int64_t type_id, Json::Array& pieces) {
  const auto add_tokens = [&](const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) {
      const std::string& written = gguf.tokens[static_cast<std::size_t>(id)];
      pieces.push_back(
          Json::Object{{"SpecialToken", Json::Object{{"id", written}, {"type_id", type_id}}}});
    }
  };
  add_tokens(model.prefix);
  pieces.push_back(
      Json::Object{{"Sequence", Json::Object{{"id", sequence}, {"type_id", type_id}}}});
  add_tokens(model.suffix);
}

Json post_processor_json(const GgufVocabulary& gguf, const TokenizerModel& model) {
  if (model.prefix.empty() && model.suffix.empty()) return nullptr;
  Json::Array single, pair;
  add_framed_text(gguf, model, "A", 0, single);
  add_framed_text(gguf, model, "A", 0, pair);
  add_framed_text(gguf, model, "B", 1, pair);
  Json::Object special;
  for (const auto* ids : {&model.prefix, &model.suffix}) {
    for (const TokenId id : *ids) {
      const std::string& written = gguf.tokens[static_cast<std::size_t>(id)];
      if (Json(special).find(written) != nullptr) continue;
      special.emplace_back(written, Json::Object{{"id", written},
                                                 {"ids", Json::Array{std::int64_t{id}}},
                                                 {"tokens", Json::Array{written}}});
    }
  }
  return Json::Object{{"type", "TemplateProcessing"},
                      {"single", std::move(single)},
                      {"pair", std::move(pair)},
                      {"special_tokens", std::move(special)}};
}

void add_role(const GgufVocabulary& gguf, std::string_view role, std::optional<TokenId> id,
              Json::Object& members) {
  if (id) members.emplace_back(role, gguf.tokens[static_cast<std::size_t>(*id)]);
}

}  // namespace

std::string gguf_to_tokenizer_json(const GgufVocabulary& gguf) {
  const Tokenizer tokenizer = load_gguf_vocabulary(gguf);
  const TokenizerModel& model = tokenizer.model();
  Json::Array added;
  for (const AddedToken& token : model.raw_tokens.tokens())
    added.push_back(added_token_json(token));
  const Json nfc = Json::Object{{"type", "NFC"}};
  return write_json(Json::Object{{"version", "1.0"},
                                 {"truncation", nullptr},
                                 {"padding", nullptr},
                                 {"added_tokens", std::move(added)},
                                 {"normalizer", model.normalizes_nfc ? nfc : Json()},
                                 {"pre_tokenizer", pre_tokenizer_json(model.stages)},
                                 {"post_processor", post_processor_json(gguf, model)},
                                 {"decoder", byte_level_json(ByteLevelWords::gpt2)},
                                 {"model", model_json(gguf, model)}});
}

std::string gguf_to_tokenizer_config(const GgufVocabulary& gguf,
                                     const std::optional<std::string>& chat_template) {
  const Tokenizer tokenizer = load_gguf_vocabulary(gguf);
  const SpecialIds& ids = tokenizer.special_ids();
  Json::Object members{{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"clean_up_tokenization_spaces", false}};
  add_role(gguf, "bos_token", ids.bos, members);
  add_role(gguf, "eos_token", ids.eos, members);
  add_role(gguf, "unk_token", ids.unk, members);
  add_role(gguf, "pad_token", ids.pad, members);
  if (chat_template) members.emplace_back("chat_template", *chat_template);
  return write_json(members);
}

}  // namespace parhelion::text
