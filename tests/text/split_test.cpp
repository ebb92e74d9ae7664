#include "text/split.h"

#include "base/error.h"
#include "text/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> pieces_of(const SplitStage& stage, std::string_view text) {
  std::vector<std::string> pieces;
  auto take = [&pieces](std::string_view piece) { pieces.emplace_back(piece); };
  split_text({&stage, 1}, text, take);
  return pieces;
}

/// A text of characters where the scanners have something to decide. All are older than the Unicode
/// version of any PCRE2 in use.
std::string random_text(std::mt19937& random) {
  constexpr std::u32string_view kCharacters =
      U"    "
      U"\t\n\r\u000b\u00a0\u3000\u0085\u2028'''sStTmMdDrReEvVlL\u017fxyzAB\u00e9\u00df\u0416\u4e2d"
      U"\u3042\u0e01\u0627012345\u0660\u00bd\u2167!?.,-_=<>#$"
      U"\u3002\u2014\u0301\u0323\u093f\ufe0f\U0001f600"
      U"\U0001f3fd\u200d\u0001\u007f\U00010330";
  std::uniform_int_distribution<std::size_t> length(1, 24);
  std::uniform_int_distribution<std::size_t> index(0, kCharacters.size() - 1);
  std::string text;
  for (std::size_t left = length(random); left > 0; --left)
    append_utf8(kCharacters[index(random)], text);
  return text;
}

class KnownPattern : public testing::TestWithParam<const char*> {};

TEST_P(KnownPattern, IsScannedAsTheRegexMatches) {
  const std::optional<SplitStage> scanner = find_scanner(GetParam());
  ASSERT_TRUE(scanner.has_value());
  const SplitStage regex = RegexSplit{Regex(GetParam(), RegexSyntax::expression, "test")};
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(pieces_of(*scanner, text), pieces_of(regex, text)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, KnownPattern,
    testing::Values(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"));

TEST(Split, PutsDigitsApart) {
  EXPECT_THAT(pieces_of(DigitRuns{.individual = true}, "ab12c\u0663"),
              ElementsAre("ab", "1", "2", "c", "\u0663"));
  EXPECT_THAT(pieces_of(DigitRuns{}, "12ab34"), ElementsAre("12", "ab", "34"));
}

TEST(Split, GivesEachPieceToTheNextStage) {
  const std::vector<SplitStage> stages = {DigitRuns{.individual = true}, Gpt2Words{}};
  std::vector<std::string> pieces;
  auto take = [&pieces](std::string_view piece) { pieces.emplace_back(piece); };
  split_text(stages, "room 42 b", take);
  EXPECT_THAT(pieces, ElementsAre("room", " ", "4", "2", " b"));
}

TEST(Regex, KeepsTheMeaningOfOniguruma) {
  EXPECT_EQ(
      translate_regex(R"([^\s\w]\S\W)", "t"),
      R"([^\p{White_Space}\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]\P{White_Space}[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])");
  EXPECT_EQ(translate_regex(R"(\u0041\p{Han}\.)", "t"), R"(\x{0041}\p{Han}\.)");
}

TEST(Regex, RefusesWhatPcreReadsDifferently) {
  EXPECT_THAT([] { Regex(R"(\h+)", RegexSyntax::expression, "tokenizer.json: Split"); },
              ThrowsMessage<Error>(R"(tokenizer.json: Split: regex '\h+': '\h' is not supported)"));
  EXPECT_THAT([] { Regex("[a&&b]", RegexSyntax::expression, "t"); },
              ThrowsMessage<Error>(HasSubstr("'&&' in a class is not supported")));
  EXPECT_THAT([] { Regex("[a[b]]", RegexSyntax::expression, "t"); },
              ThrowsMessage<Error>(HasSubstr("a class within a class is not supported")));
  EXPECT_THAT([] { Regex("(a", RegexSyntax::expression, "t"); },
              ThrowsMessage<Error>(HasSubstr("t: regex '(a': ")));
}

}  // namespace
}  // namespace parhelion::text
