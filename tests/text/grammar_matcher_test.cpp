#include "base/error.h"
#include "text/grammar_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TokenId kStop = 6;

/// Tokens that cross the ends of rules and cut a character in two.
std::shared_ptr<const TokenTable> small_table() {
  return table_of({"a", "b,", ",", "\xC3", "\xA9", ",a", ""});
}

Grammar list_grammar() {
  return compile_grammar_text("root ::= item (\",\" item)*\nitem ::= \"a\" | \"b\" | \"é\"");
}

TEST(GrammarMatcher, AllowsTokensAcrossRulesAndHalfCharacters) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {kStop});
  EXPECT_THAT(allowed(matcher, 7), ElementsAre(0, 1, 3));
  ASSERT_TRUE(matcher.accept(3));
  EXPECT_THAT(allowed(matcher, 7), ElementsAre(4));
  ASSERT_TRUE(matcher.accept(4));
  EXPECT_THAT(allowed(matcher, 7), ElementsAre(2, 5, kStop));
}

TEST(GrammarMatcher, RefusesATokenAndStaysWhereItWas) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {kStop});
  EXPECT_FALSE(matcher.accept(2));
  EXPECT_FALSE(matcher.accept(kStop));
  EXPECT_FALSE(matcher.accept(99));
  EXPECT_FALSE(matcher.accept(-1));
  EXPECT_EQ(matcher.accepted_count(), 0);
  EXPECT_TRUE(matcher.accept(0));
}

TEST(GrammarMatcher, StopsWhereTheTextMayEndAndAllowsNothingBehind) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {kStop});
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_TRUE(matcher.is_finished());
  ASSERT_TRUE(matcher.accept(kStop));
  EXPECT_TRUE(matcher.is_stopped());
  EXPECT_THAT(allowed(matcher, 7), IsEmpty());
  EXPECT_FALSE(matcher.accept(0));
}

TEST(GrammarMatcher, AllowsTheStopTokenAloneWhereNothingCanFollow) {
  GrammarMatcher matcher =
      matcher_of(compile_choice(std::vector<std::string>{"a"}), small_table(), {kStop});
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_THAT(allowed(matcher, 7), ElementsAre(kStop));
}

TEST(GrammarMatcher, LetsAStopTokenThatHasATextEndOnly) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {0});
  EXPECT_THAT(allowed(matcher, 7), ElementsAre(1, 3));
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_FALSE(matcher.accept(0));
}

TEST(GrammarMatcher, TakesTokensBackAlsoAStop) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {kStop});
  const std::vector<TokenId> at_start = allowed(matcher, 7);
  ASSERT_TRUE(matcher.accept(0));
  const std::vector<TokenId> after_one = allowed(matcher, 7);
  ASSERT_TRUE(matcher.accept(5));
  ASSERT_TRUE(matcher.accept(2));
  ASSERT_TRUE(matcher.accept(0));
  ASSERT_TRUE(matcher.accept(kStop));
  matcher.roll_back(4);
  EXPECT_EQ(allowed(matcher, 7), after_one);
  matcher.roll_back(1);
  EXPECT_EQ(allowed(matcher, 7), at_start);
  EXPECT_THROW(matcher.roll_back(1), Error);
}

TEST(GrammarMatcher, GoesOnApartFromItsCopy) {
  GrammarMatcher matcher = matcher_of(list_grammar(), small_table(), {kStop});
  ASSERT_TRUE(matcher.accept(0));
  GrammarMatcher copy = matcher;
  ASSERT_TRUE(copy.accept(5));
  EXPECT_EQ(copy.accepted_count(), 2);
  EXPECT_EQ(matcher.accepted_count(), 1);
  EXPECT_TRUE(matcher.accept(kStop));
}

TEST(GrammarMatcher, TellsWhatMustCome) {
  GrammarMatcher matcher = matcher_of(
      compile_grammar_text("root ::= \"abc\" (\"d\" | \"e\") tail\ntail ::= \"fg\""), byte_table());
  EXPECT_EQ(matcher.forced_bytes(), "abc");
  EXPECT_EQ(matcher.forced_bytes(2), "ab");
  ASSERT_TRUE(matcher.accept_bytes("abce"));
  EXPECT_EQ(matcher.forced_bytes(), "fg");
  ASSERT_TRUE(matcher.accept_bytes("fg"));
  EXPECT_EQ(matcher.forced_bytes(), "");
}

TEST(GrammarMatcher, RefusesAMaskTooSmallForTheVocabulary) {
  GrammarMatcher matcher = matcher_of(compile_regex("a"), byte_table());
  std::vector<std::uint32_t> bits(7);
  EXPECT_THROW(matcher.fill_mask(bits), Error);
}

TEST(GrammarMatcher, ClearsBitsBehindTheVocabulary) {
  GrammarMatcher matcher = matcher_of(compile_regex("a"), byte_table());
  std::vector<std::uint32_t> bits(12, 0xFFFFFFFF);
  matcher.fill_mask(bits);
  EXPECT_EQ(bits[3], 1U << ('a' - 96));
  EXPECT_EQ(bits[8], 0U);
  EXPECT_EQ(bits[11], 0U);
}

TEST(GrammarMatcher, GivesTheSameMasksWithoutMemoryForThem) {
  const auto table = small_table();
  GrammarMatcher kept({std::make_shared<const TokenGrammar>(list_grammar(), table)}, {kStop});
  GrammarMatcher made({std::make_shared<const TokenGrammar>(list_grammar(), table, 0)}, {kStop});
  for (const TokenId token : {0, 5, 2, 1, 3, 4}) {
    EXPECT_EQ(allowed(kept, 7), allowed(made, 7));
    ASSERT_TRUE(kept.accept(token));
    ASSERT_TRUE(made.accept(token));
  }
}

TEST(GrammarMatcher, GivesTheSameMasksIfTheyWereMadeAhead) {
  const auto ahead = std::make_shared<const TokenGrammar>(list_grammar(), small_table());
  ahead->prepare(std::chrono::seconds(10));
  const std::int64_t memory = ahead->memory_bytes();
  GrammarMatcher made = matcher_of(list_grammar(), small_table(), {kStop});
  GrammarMatcher kept(ahead, {kStop});
  for (const TokenId token : {0, 5, 2, 1, 3, 4}) {
    EXPECT_EQ(allowed(kept, 7), allowed(made, 7));
    ASSERT_TRUE(kept.accept(token));
    ASSERT_TRUE(made.accept(token));
  }
  EXPECT_EQ(ahead->memory_bytes(), memory);
}

TEST(GrammarMatcher, RefusesATextThatCanBeReadInTooManyWays) {
  std::string text = "root ::= \"a\" (b0";
  for (int i = 1; i < 5000; ++i) text += fmt::format(" | b{}", i);
  text += ")\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format("b{} ::= \"b\"+\n", i);
  GrammarMatcher matcher = matcher_of(compile_grammar_text(text), byte_table());
  EXPECT_THROW(matcher.accept('a'), Error);
  EXPECT_EQ(matcher.accepted_count(), 0);
  EXPECT_FALSE(matcher.accept('b'));
}

TEST(GrammarMatcher, SharesAGrammarBetweenThreads) {
  const auto grammar = std::make_shared<const TokenGrammar>(list_grammar(), small_table());
  std::vector<std::vector<TokenId>> seen(4);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&grammar, &ids = seen[i]] {
      GrammarMatcher matcher(grammar, {kStop});
      for (const TokenId token : {0, 5, 2, 0, 2, 1}) {
        for (const TokenId id : allowed(matcher, 7)) ids.push_back(id);
        matcher.accept(token);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
  EXPECT_EQ(seen[3], seen[0]);
}

}  // namespace
}  // namespace parhelion::text
