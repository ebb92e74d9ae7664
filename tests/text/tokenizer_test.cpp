#include "text/tokenizer.h"

#include "base/error.h"
#include "text/detokenizer.h"
#include "text/encoder.h"
#include "text/tokenizer_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Runs of a letter to twice their length, up to 32.
const std::vector<std::string> kRuns = {"a a", "aa aa", "aaaa aaaa", "aaaaaaaa aaaaaaaa",
                                        "aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa"};

TEST(Tokenizer, RefusesTextThatIsNoUtf8) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2"));
  EXPECT_THAT([&] { tokenizer.encode("ab\xc3("); },
              ThrowsMessage<Error>("text: byte 2 is no UTF-8"));
  EXPECT_THAT([&] { tokenizer.encode("ab\xed\xa0\x80"); },
              ThrowsMessage<Error>("text: byte 2 is no UTF-8"));
}

TEST(Tokenizer, NamesIdsThatAreNotInTheVocabulary) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2"));
  EXPECT_THAT(
      [&] {
        tokenizer.decode(std::vector<TokenId>{65, 256});
      },
      ThrowsMessage<Error>("token id 256 is not in the vocabulary of 256 tokens"));
  EXPECT_THROW(tokenizer.token_bytes(-1), Error);
}

TEST(Tokenizer, RefusesABosThatItDoesNotName) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2"));
  EXPECT_THAT([&] { tokenizer.encode("a", {.frame = Frame::bos}); },
              ThrowsMessage<Error>("tokenizer: names no BOS token"));
}

TEST(Tokenizer, EncodesAMegabyteOfOneLetterInASecond) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2", kRuns));
  const std::string text(1 << 20, 'a');
  const auto start = std::chrono::steady_clock::now();
  const std::vector<TokenId> ids = tokenizer.encode(text);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(ids, std::vector<TokenId>((1 << 20) / 32, 260));
  EXPECT_LT(elapsed, std::chrono::seconds(5));  // slack for sanitizers; bench measures
}

TEST(Tokenizer, NormalisesAMegabyteOfMarksInASecond) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("qwen2"));
  std::string text = "a";
  for (int i = 0; i < 1 << 18; ++i) text += "\u0301\u0323";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(tokenizer.encode(text).size(), 3 + 2 * ((1 << 19) - 1));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Tokenizer, MergesLongWordsAsShortOnes) {
  const Tokenizer tokenizer = load_gguf_vocabulary(
      byte_vocabulary("gpt-2", {"b a", "a b", "ab a", "ba b", "a ba", "aba b"}));
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (int k = 0; k < 40; ++k) word += random() % 2 == 0 ? 'a' : 'b';
    std::vector<TokenId> once = tokenizer.encode(word);
    const std::vector<TokenId> thrice = tokenizer.encode(word + "c" + word + "c" + word);
    ASSERT_EQ(thrice.size(), 3 * once.size() + 2);
    once.push_back('c');
    EXPECT_TRUE(std::equal(once.begin(), once.end(), thrice.begin())) << word;
  }
}

TEST(Tokenizer, IsUsedByManyThreads) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2", kRuns));
  const std::string text = "aaaa aaa bb aaaaaaaa " + std::string(99, 'a');
  const std::vector<TokenId> expected = tokenizer.encode(text);
  std::vector<std::vector<TokenId>> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = tokenizer.encode(text); });
  }
  EXPECT_THAT(results, testing::Each(expected));
}

TEST(Encoder, AppendsAndRemembers) {
  Encoder encoder(load_gguf_vocabulary(byte_vocabulary("gpt-2", kRuns)), 64);
  std::vector<TokenId> ids;
  for (int i = 0; i < 1000; ++i) encoder.encode(" aa" + std::to_string(i), {}, ids);
  std::vector<TokenId> again;
  encoder.encode(" aa7", {}, again);
  EXPECT_THAT(again, ElementsAre(' ', 256, '7'));
  EXPECT_EQ(ids[0], ' ');
  EXPECT_EQ(ids.size(), 2 * 1000 + 10 + 90 * 2 + 900 * 3);
}

TEST(Encoder, LeavesTheIdsAloneWhenItFails) {
  Encoder encoder(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  std::vector<TokenId> ids = {1, 2};
  EXPECT_THROW(encoder.encode("ok\xff", {}, ids), Error);
  EXPECT_THAT(ids, ElementsAre(1, 2));
}

TEST(Detokenizer, HoldsBackIncompleteCharacters) {
  Detokenizer detokenizer(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.push(0x9F), "");
  EXPECT_EQ(detokenizer.push(0x98), "");
  EXPECT_EQ(detokenizer.push(0x80), "\U0001f600");
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, ReplacesIdsThatTheTokenizerHasNotWhereAskedTo) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2"));
  const auto unknown = static_cast<TokenId>(tokenizer.vocabulary_size());
  const TokenId letter = tokenizer.encode("a").front();
  const TokenId half = tokenizer.encode("\u00e9").front();  // the first byte of two
  Detokenizer replacing(tokenizer, SpecialTokens::skip, UnknownIds::replace);
  EXPECT_EQ(replacing.push(letter), "a");
  EXPECT_EQ(replacing.push(unknown), "\uFFFD");
  EXPECT_EQ(replacing.push(half), "");
  EXPECT_EQ(replacing.push(unknown), "\uFFFD\uFFFD");
  EXPECT_EQ(replacing.push(letter), "a");
  EXPECT_THROW(Detokenizer(tokenizer).push(unknown), Error);
}

TEST(Detokenizer, ReplacesEachMaximalIllFormedSubsequence) {
  Detokenizer detokenizer(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  EXPECT_EQ(detokenizer.push(0xE4), "");
  EXPECT_EQ(detokenizer.push(0xB8), "");
  EXPECT_EQ(detokenizer.push('a'), "\uFFFDa");
  EXPECT_EQ(detokenizer.push(0x80), "\uFFFD");
  EXPECT_EQ(detokenizer.push(0xED), "");
  EXPECT_EQ(detokenizer.push(0xA0), "\uFFFD\uFFFD");
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
}

TEST(Detokenizer, DropsSpecialTokensById) {
  GgufVocabulary gguf = byte_vocabulary("gpt-2");
  const TokenId end = add_gguf_token(gguf, "<e>", 3);
  const Tokenizer tokenizer = load_gguf_vocabulary(gguf);
  const std::vector<TokenId> ids = {'a', end, '<', 'e', '>'};
  EXPECT_EQ(tokenizer.decode(ids), "a<e><e>");
  EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::skip), "a<e>");
}

TEST(Detokenizer, CopyGoesOnFromTheSamePlace) {
  Detokenizer original(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  original.push(0xC3);
  Detokenizer copy = original;
  EXPECT_EQ(original.push(0xA9), "\u00e9");
  EXPECT_EQ(copy.push(0xA8), "\u00e8");
}

TEST(Detokenizer, AgreesWithDecodeOnRandomBytes) {
  const Tokenizer tokenizer = load_gguf_vocabulary(byte_vocabulary("gpt-2"));
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::vector<TokenId> ids(1 + random() % 9);
    for (TokenId& id : ids) id = static_cast<TokenId>(0x60 + random() % 0xA0);
    Detokenizer detokenizer(tokenizer);
    std::string streamed;
    for (const TokenId id : ids) streamed += detokenizer.push(id);
    EXPECT_EQ(streamed + detokenizer.flush(), tokenizer.decode(ids));
  }
}

}  // namespace
}  // namespace parhelion::text
