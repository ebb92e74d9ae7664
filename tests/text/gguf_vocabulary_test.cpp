#include "text/gguf_vocabulary.h"

#include "base/error.h"
#include "text/tokenizer_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(GgufVocabulary, MergesByRank) {
  const Tokenizer tokenizer =
      load_gguf_vocabulary(byte_vocabulary("gpt-2", {"b c", "a b", "a bc"}));
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(258));
  EXPECT_THAT(tokenizer.encode("ab"), ElementsAre(257));
}

TEST(GgufVocabulary, FindsControlAndUserDefinedTokens) {
  GgufVocabulary gguf = byte_vocabulary("qwen2");
  const TokenId control = add_gguf_token(gguf, "<|end|>", 3);
  const TokenId user = add_gguf_token(gguf, "<tool>", 4);
  const Tokenizer tokenizer = load_gguf_vocabulary(gguf);
  EXPECT_THAT(tokenizer.encode("a<|end|><tool>"), ElementsAre('a', control, user));
  EXPECT_EQ(tokenizer.encode("<|end|><tool>", {.special_text = SpecialText::plain}).back(), user);
  EXPECT_TRUE(tokenizer.is_special(control));
  EXPECT_FALSE(tokenizer.is_special(user));
}

TEST(GgufVocabulary, NormalisesWhereTheModelDoes) {
  const std::string decomposed = "e\u0301";
  EXPECT_THAT(load_gguf_vocabulary(byte_vocabulary("qwen2")).encode(decomposed),
              ElementsAre(0xC3, 0xA9));
  EXPECT_THAT(load_gguf_vocabulary(byte_vocabulary("llama-bpe")).encode(decomposed),
              ElementsAre('e', 0xCC, 0x81));
}

TEST(GgufVocabulary, PutsOneBosFirstIfAsked) {
  GgufVocabulary gguf = byte_vocabulary("llama-bpe");
  const TokenId bos = add_gguf_token(gguf, "<s>", 3);
  gguf.bos_id = bos;
  const Tokenizer tokenizer = load_gguf_vocabulary(gguf);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_THAT(tokenizer.encode("a"), ElementsAre('a'));
  EXPECT_THAT(tokenizer.encode("a", {.frame = Frame::bos}), ElementsAre(bos, 'a'));
  EXPECT_THAT(tokenizer.encode("<s>a", {.frame = Frame::bos}), ElementsAre(bos, 'a'));
  EXPECT_THAT(tokenizer.encode("<s>a", {.frame = Frame::post_processor}),
              ElementsAre(bos, bos, 'a'));
}

TEST(GgufVocabulary, NamesWhatIsNotSupported) {
  EXPECT_THAT(
      [] { load_gguf_vocabulary(byte_vocabulary("deepseek-llm")); },
      ThrowsMessage<Error>("GGUF vocabulary: pre-tokeniser 'deepseek-llm' is not supported"));
  GgufVocabulary gguf = byte_vocabulary("gpt-2");
  gguf.model = "llama";
  EXPECT_THAT([&] { load_gguf_vocabulary(gguf); },
              ThrowsMessage<Error>("GGUF vocabulary: tokenizer model 'llama' is not supported"));
}

TEST(GgufVocabulary, RefusesListsThatContradictEachOther) {
  GgufVocabulary types = byte_vocabulary("gpt-2");
  types.token_types.pop_back();
  EXPECT_THAT([&] { load_gguf_vocabulary(types); },
              ThrowsMessage<Error>(HasSubstr("has 255 token types, expected one for each of 256")));
  GgufVocabulary bos = byte_vocabulary("gpt-2");
  bos.bos_id = 256;
  EXPECT_THAT([&] { load_gguf_vocabulary(bos); },
              ThrowsMessage<Error>("GGUF vocabulary: BOS id 256 is not in the vocabulary"));
  GgufVocabulary merge = byte_vocabulary("gpt-2");
  merge.merges = {"a b"};
  EXPECT_THAT([&] { load_gguf_vocabulary(merge); },
              ThrowsMessage<Error>(HasSubstr("merge 'a b' needs a token")));
  merge.merges = {"a b c"};
  EXPECT_THAT([&] { load_gguf_vocabulary(merge); },
              ThrowsMessage<Error>(HasSubstr("no pair with one space")));
  GgufVocabulary repeated = byte_vocabulary("gpt-2");
  repeated.tokens[1] = repeated.tokens[0];
  EXPECT_THAT([&] { load_gguf_vocabulary(repeated); },
              ThrowsMessage<Error>(HasSubstr("is repeated")));
  GgufVocabulary broken = byte_vocabulary("gpt-2");
  broken.tokens[7] = "a\xff";
  EXPECT_THAT([&] { load_gguf_vocabulary(broken); },
              ThrowsMessage<Error>("GGUF vocabulary: token 7 has no UTF-8 at byte 1"));
}

}  // namespace
}  // namespace parhelion::text
