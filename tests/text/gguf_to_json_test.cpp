#include "text/gguf_to_json.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace parhelion::text {
namespace {

using testing::HasSubstr;

/// The tokenizer that a written tokenizer.json and tokenizer_config.json give.
Tokenizer written(const GgufVocabulary& gguf) {
  return load_tokenizer_json(gguf_to_tokenizer_json(gguf),
                             gguf_to_tokenizer_config(gguf, std::nullopt));
}

void expect_same_ids(const Tokenizer& tokenizer, const Tokenizer& expected, std::string_view text) {
  for (const SpecialText special : {SpecialText::parse, SpecialText::plain}) {
    for (const Frame frame : {Frame::none, Frame::post_processor}) {
      const EncodeOptions options{.special_text = special, .frame = frame};
      const auto ids = expected.encode(text, options);
      EXPECT_EQ(tokenizer.encode(text, options), ids) << text;
      EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::skip),
                expected.decode(ids, SpecialTokens::skip));
    }
  }
}

class WrittenVocabulary : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Pre, WrittenVocabulary,
                         testing::Values("gpt-2", "phi-2", "smollm", "starcoder", "refact",
                                         "command-r", "llama-bpe", "llama3", "llama-v3", "qwen2",
                                         "deepseek-r1-qwen", "qwen35"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(WrittenVocabulary, GivesTheIdsOfTheGgufVocabulary) {
  GgufVocabulary gguf = byte_vocabulary(GetParam(), {"h e", "l l", "he ll", "hell o", "1 2", "12 3",
                                                     "\u0120 \u0120", "a b", "ab ab"});
  gguf.bos_id = add_gguf_token(gguf, "<s>", 3);
  gguf.eos_id = add_gguf_token(gguf, "</s>", 3);
  add_gguf_token(gguf, "<tool>", 4);
  add_gguf_token(gguf, "[PAD\"\\]", 5);
  const Tokenizer expected = load_gguf_vocabulary(gguf);
  const Tokenizer tokenizer = written(gguf);
  for (const char* text :
       {"", "hello  12345 hell", "<s>hello</s> <tool>abab<tool>", "it's IT'S e\u0301 \u00e9\n\n x",
        "\u0967\u0968\u0969 \u4f60\u597d\r\n ...!?", "[PAD\"\\] a\u0301b", "\U0001F600 \t \u00a0x"})
    expect_same_ids(tokenizer, expected, text);
  EXPECT_EQ(tokenizer.special_ids().bos, gguf.bos_id);
  EXPECT_EQ(tokenizer.special_ids().eos, gguf.eos_id);
  EXPECT_EQ(tokenizer.special_ids().pad, std::nullopt);
  EXPECT_EQ(tokenizer.adds_bos(), expected.adds_bos());
  EXPECT_EQ(tokenizer.vocabulary_size(), expected.vocabulary_size());
}

TEST(GgufToJson, KeepsWhatIsPutAroundATextByFlag) {
  for (const bool add_bos : {false, true}) {
    for (const bool add_eos : {false, true}) {
      GgufVocabulary gguf = byte_vocabulary("llama-bpe");
      gguf.bos_id = gguf.eos_id = add_gguf_token(gguf, "<s>", 3);
      gguf.add_bos = add_bos;
      gguf.add_eos = add_eos;
      expect_same_ids(written(gguf), load_gguf_vocabulary(gguf), "a<s>b");
      EXPECT_EQ(written(gguf).adds_bos(), add_bos);
    }
  }
}

TEST(GgufToJson, TheConfigHasRolesAndTemplate) {
  GgufVocabulary gguf = byte_vocabulary("gpt-2");
  gguf.unk_id = gguf.pad_id = add_gguf_token(gguf, "<\"pad\">", 3);
  const Json config = parse_json(gguf_to_tokenizer_config(gguf, "{{ x }}\n"), "config");
  EXPECT_EQ(*config.find("pad_token"), Json("<\"pad\">"));
  EXPECT_EQ(*config.find("unk_token"), Json("<\"pad\">"));
  EXPECT_EQ(config.find("bos_token"), nullptr);
  EXPECT_EQ(*config.find("chat_template"), Json("{{ x }}\n"));
}

/// The GGUF lists of a tokenizer.json whose added tokens are all special.
GgufVocabulary gguf_of(const Json& file, std::string pre) {
  GgufVocabulary gguf{.model = "gpt2", .pre = std::move(pre)};
  const Json& model = *file.find("model");
  for (const auto& [token, id] : model.find("vocab")->as_object("vocab"))
    gguf.tokens.resize(
        std::max(gguf.tokens.size(), static_cast<std::size_t>(id.as_int64("id")) + 1));
  for (const auto& [token, id] : model.find("vocab")->as_object("vocab"))
    gguf.tokens[static_cast<std::size_t>(id.as_int64("id"))] = token;
  gguf.token_types.assign(gguf.tokens.size(), 1);
  for (const Json& added : file.find("added_tokens")->as_array("added_tokens"))
    gguf.token_types.at(static_cast<std::size_t>(added.find("id")->as_int64("id"))) =
        *added.find("special") == Json(true) ? 3 : 4;
  for (const Json& merge : model.find("merges")->as_array("merges"))
    gguf.merges.push_back(merge.as_array("merge")[0].as_string("left") + " " +
                          merge.as_array("merge")[1].as_string("right"));
  return gguf;
}

TEST(GgufToJson, GivesTheIdsOfTheReferenceForRealVocabularies) {
  const std::filesystem::path data =
      std::filesystem::path(PARHELION_TEST_DATA) / "text" / "tokenizers";
  const std::vector<std::pair<std::string, std::string>> pre_of = {{"smollm2", "smollm"},
                                                                   {"gpt2", "gpt-2"},
                                                                   {"llama3", "llama-bpe"},
                                                                   {"qwen2", "qwen2"},
                                                                   {"qwen35", "qwen35"}};
  for (const auto& [name, pre] : pre_of) {
    const Json file = parse_json(read_file(data / (name + ".json")), name);
    const Tokenizer tokenizer = written(gguf_of(file, pre));
    const Json golden = parse_json(read_file(data / (name + ".golden.json")), name);
    for (const Json& item : golden.find("cases")->as_array("cases")) {
      std::vector<TokenId> ids;
      for (const Json& id : item.find("ids")->as_array("ids"))
        ids.push_back(static_cast<TokenId>(id.as_int64("id")));
      EXPECT_EQ(tokenizer.encode(item.find("text")->as_string("text")), ids) << name;
    }
  }
}

TEST(GgufToJson, RefusesWhatTheVocabularyRefuses) {
  EXPECT_THAT([] { gguf_to_tokenizer_json(byte_vocabulary("other")); },
              testing::ThrowsMessage<Error>(HasSubstr("pre-tokeniser 'other' is not supported")));
}

}  // namespace
}  // namespace parhelion::text
