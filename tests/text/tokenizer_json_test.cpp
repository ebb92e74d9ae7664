#include "base/error.h"
#include "text/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The parts of a tokenizer.json; each test changes one.
struct TokenizerFile {
  std::string added = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false})";
  std::string post_processor = "null";
  std::string decoder = R"({"type":"ByteLevel"})";
  std::string vocab = R"({"a":0,"b":1,"ab":2})";
  std::string merges = R"(["a b"])";
  std::string settings = R"("type":"BPE")";

  std::string text() const {
    return fmt::format(
        R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},)"
        R"("pre_tokenizer":{},"post_processor":{},"decoder":{},)"
        R"("model":{{{},"vocab":{},"merges":{}}}}})",
        added, normalizer, pre_tokenizer, post_processor, decoder, settings, vocab, merges);
  }
};

void expect_error(const TokenizerFile& file, ErrorKind kind, const std::string& message) {
  try {
    load_tokenizer_json(file.text());
    FAIL() << "no error, expected " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
    EXPECT_EQ(error.kind(), kind) << message;
  }
}

TEST(TokenizerJson, ReadsBothFormsOfMerges) {
  for (const char* merges : {R"(["a b"])", R"([["a","b"]])", R"(["#version: 0.2","a b"])"}) {
    const Tokenizer tokenizer = load_tokenizer_json(TokenizerFile{.merges = merges}.text());
    EXPECT_THAT(tokenizer.encode("abba"), ElementsAre(2, 1, 0)) << merges;
  }
}

TEST(TokenizerJson, ReadsEscapesAndIdsWithGaps) {
  const Tokenizer tokenizer = load_tokenizer_json(
      TokenizerFile{.vocab = R"({ "\u0061" : 7 , "b":0, "\ud83d\ude00\"":3,"ab":9 })"}.text());
  EXPECT_THAT(tokenizer.encode("aab"), ElementsAre(7, 9));
  EXPECT_EQ(tokenizer.find("\U0001f600\""), 3);
  EXPECT_EQ(tokenizer.token_bytes(3), "\U0001f600\"");
  EXPECT_EQ(tokenizer.vocabulary_size(), 10);
  EXPECT_FALSE(tokenizer.contains(5));
}

TEST(TokenizerJson, TakesRolesFromTheConfig) {
  const TokenizerFile file{
      .added =
          R"([{"id":3,"content":"<s>","special":true},{"id":4,"content":"</s>","special":true}])"};
  const Tokenizer tokenizer =
      load_tokenizer_json(file.text(), R"({"bos_token":{"content":"<s>"},"eos_token":"</s>"})");
  EXPECT_EQ(tokenizer.special_ids().bos, 3);
  EXPECT_EQ(tokenizer.special_ids().eos, 4);
  EXPECT_EQ(tokenizer.special_ids().pad, std::nullopt);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_THAT(
      [&] { load_tokenizer_json(file.text(), R"({"bos_token":"<x>"})"); },
      ThrowsMessage<Error>("tokenizer_config.json: bos_token: '<x>' is not in the vocabulary"));
}

TEST(TokenizerJson, NamesComponentsThatAreNotSupported) {
  const auto expect = [](const TokenizerFile& file, const std::string& message) {
    expect_error(file, ErrorKind::unsupported, message);
  };
  expect({.pre_tokenizer = R"({"type":"Metaspace"})"},
         "tokenizer.json: pre_tokenizer type 'Metaspace' is not supported");
  expect({.pre_tokenizer = "null"}, "tokenizer.json: pre_tokenizer type 'null' is not supported");
  expect({.pre_tokenizer = R"({"type":"Digits"})"}, "without ByteLevel at its end");
  expect({.pre_tokenizer = R"({"type":"ByteLevel","speed":1})"}, "member 'speed' is not supported");
  expect({.pre_tokenizer = R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Never"})"},
         "Split behavior 'Never' is not supported");
  expect({.normalizer = R"({"type":"NFKC"})"}, "normalizer type 'NFKC' is not supported");
  expect(
      {.normalizer = R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]})"},
      "normalizer type 'Lowercase' is not supported");
  expect({.post_processor = R"({"type":"BertProcessing"})"},
         "post_processor type 'BertProcessing' is not supported");
  expect({.decoder = R"({"type":"WordPiece"})"}, "decoder type 'WordPiece' is not supported");
  expect({.decoder = "null"}, "decoder type 'null' is not supported");
  expect({.settings = R"("type":"Unigram")"}, R"(model type "Unigram" is not supported)");
  expect({.settings = R"("dropout":0.5)"}, "model: dropout = 0.5 is not supported");
  expect({.settings = R"("end_of_word_suffix":"</w>")"}, "end_of_word_suffix");
  expect({.settings = R"("byte_fallback":true)"}, "byte_fallback is not supported");
}

TEST(TokenizerJson, RefusesFilesThatBreakTheFormat) {
  const auto expect = [](const TokenizerFile& file, const std::string& message) {
    expect_error(file, ErrorKind::corrupt, message);
  };
  expect({.vocab = "[]"}, "tokenizer.json: vocab: byte 0 is not '{'");
  expect({.vocab = R"({"a":0,"a":1})"}, "token 'a' is repeated");
  expect({.vocab = R"({"a":0,"b":0})"}, "token 'b' has id 0, which another token has");
  expect({.vocab = R"({"a":-1})"}, "token 'a' has id -1, expected 0 to");
  expect({.vocab = R"({"a":99999999})"}, "token 'a' has id 99999999, expected 0 to");
  expect({.vocab = R"({"a":99999999999999999999})"}, "is not an integer of 64 bits");
  expect({.vocab = R"({"a":1.5})"}, "is not an integer");
  expect({.vocab = R"({"a":0,})"}, "is not a value");
  expect({.vocab = R"({"\ud800":0})"}, "is not a pair of surrogates");
  expect({.vocab = "{\"a\n\":0}"}, "is not allowed in a string");
  expect({.vocab = "{\"a\xff\":0}"}, "vocab: token 0 has no UTF-8 at byte 1");
  expect({.merges = R"(["a c"])"}, "merge 'a c' needs a token which is not in the vocabulary");
  expect({.merges = R"(["b a"])"}, "merge 'b a' needs a token which is not in the vocabulary");
  expect({.merges = R"(["ab"])"}, "merge 'ab' is no pair with one space between");
  expect({.merges = R"([["a"]])"}, "a merge has 1 tokens, expected 2");
  expect({.merges = R"([{}])"}, "is not '['");
  expect({.added = R"([{"content":"x"}])"}, "added_tokens: has no member 'id'");
  expect({.added = R"([{"id":"0","content":"x"}])"}, "id is string, expected integer");
  expect({.added = R"([{"id":3000000000,"content":"x"}])"}, "id is 3000000000, expected 0 to");
  expect({.added = R"([{"id":1,"content":"a"}])"}, "added token 'a' has id 1, but 0 in the vocab");
  expect({.added = R"([{"id":1,"content":"x"}])"}, "has id 1, which another token has");
  expect({.added = R"([{"id":5,"content":"x","special":1}])"},
         "special is integer, expected boolean");
  expect({.settings = R"("unk_token":"?")"}, "unk_token is not in the vocabulary");
  expect({.settings = R"("vocab":{})"}, "tokenizer.json: model: key 'vocab' is repeated");
}

TEST(TokenizerJson, RefusesTextThatIsNoTokenizer) {
  for (const char* text : {"", "[]", "{", "{}", "null", "{\"model\":", "{\"model\":{}}x"}) {
    EXPECT_THROW(load_tokenizer_json(text), Error) << text;
  }
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THROW(load_tokenizer_json(TokenizerFile{.normalizer = deep}.text()), Error);
  EXPECT_THROW(load_tokenizer_json(TokenizerFile{.merges = deep}.text()), Error);
}

TEST(TokenizerJson, RefusesEveryTruncation) {
  const std::string text = TokenizerFile{}.text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(load_tokenizer_json(text.substr(0, size)), Error) << size;
  }
}

}  // namespace
}  // namespace parhelion::text
