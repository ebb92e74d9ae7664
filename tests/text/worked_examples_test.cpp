// Worked examples of text that is held back: the number of each is in its name.
#include "text/detokenizer.h"
#include "text/stop_filter.h"
#include "text/tokenizer_support.h"

#include <gtest/gtest.h>

namespace parhelion::text {
namespace {

TEST(WorkedExample, N18HoldsBackWhatMayBecomeAStopString) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("xE"), "x");
  EXPECT_EQ(filter.push("N"), "");
  EXPECT_EQ(filter.push("Q"), "ENQ");
  EXPECT_EQ(filter.matched(), nullptr);
}

TEST(WorkedExample, N19NeverReleasesWhatFollowsTheStopString) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("aEN"), "a");
  EXPECT_EQ(filter.push("D b"), "");
  ASSERT_NE(filter.matched(), nullptr);
  EXPECT_EQ(*filter.matched(), "END");
  EXPECT_EQ(filter.flush(), "");
}

TEST(WorkedExample, N20StopsAtTheEarliestEnd) {
  StopFilter filter({"ab", "abc"});
  EXPECT_EQ(filter.push("zabc"), "z");
  ASSERT_NE(filter.matched(), nullptr);
  EXPECT_EQ(*filter.matched(), "ab");
}

TEST(WorkedExample, N21WaitsForTheBytesOfACharacter) {
  Detokenizer detokenizer(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  for (const TokenId byte : {0xF0, 0x9F, 0x98}) EXPECT_EQ(detokenizer.push(byte), "");
  EXPECT_EQ(detokenizer.push(0x80), "\U0001F600");
}

TEST(WorkedExample, N22ReplacesAnUnfinishedCharacterOnce) {
  Detokenizer detokenizer(load_gguf_vocabulary(byte_vocabulary("gpt-2")));
  for (const TokenId byte : {0xF0, 0x9F}) EXPECT_EQ(detokenizer.push(byte), "");
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
}

}  // namespace
}  // namespace parhelion::text
