#include "base/error.h"
#include "text/grammar_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string regex_error(std::string_view pattern, const GrammarLimits& limits = {}) {
  try {
    compile_regex(pattern, limits);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.kind()), error.what());
  }
  return "accepted";
}

void expect_matches(std::string_view pattern, const std::vector<std::string>& texts,
                    const std::vector<std::string>& others) {
  const Grammar grammar = compile_regex(pattern);
  for (const std::string& text : texts) EXPECT_TRUE(matches(grammar, text)) << pattern << text;
  for (const std::string& text : others) EXPECT_FALSE(matches(grammar, text)) << pattern << text;
}

TEST(GrammarRegex, MatchesTheWholeTextOnly) {
  expect_matches("ab|cd", {"ab", "cd"}, {"", "a", "abc", "xab", "abcd"});
  expect_matches("^ab$|^cd", {"ab", "cd"}, {"abx", "xcd"});
}

TEST(GrammarRegex, RepeatsAsQuantifiersSay) {
  expect_matches("a*b+c?", {"b", "aabb", "abc"}, {"a", "ac", "bcc"});
  expect_matches("a{2}", {"aa"}, {"a", "aaa"});
  expect_matches("a{2,}", {"aa", "aaaaa"}, {"a"});
  expect_matches("a{1,3}?", {"a", "aaa"}, {"", "aaaa"});
  expect_matches("(ab){0,2}", {"", "ab", "abab"}, {"aba", "ababab"});
  expect_matches("(?:a|b*)*c", {"c", "abbac"}, {"ab"});
}

TEST(GrammarRegex, ReadsClassesOfCharacters) {
  expect_matches("[a-c_]", {"a", "b", "c", "_"}, {"d", "", "-"});
  expect_matches("[^a-c]", {"d", "é", "\n", "😀"}, {"a", "b"});
  expect_matches("[\\d.-]+", {"1.5", "-2"}, {"a", "1,5"});
  expect_matches("\\w\\W\\s\\S\\D", {"a- xy", "_é\nab"}, {"aa xy", "a- x1"});
  expect_matches(".", {"a", "é", "中", "😀"}, {"\n", "\r", "ab"});
}

TEST(GrammarRegex, ReadsEscapes) {
  expect_matches(R"(\x41\u00e9\U0001F600\.\n\t\\\/)", {"Aé😀.\n\t\\/"}, {"Ae😀.\n\t\\/"});
}

TEST(GrammarRegex, CoversCharactersOfAllLengthsAndNothingElse) {
  const Grammar grammar = compile_regex("[^x]");
  for (const char* text :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_FALSE(may_begin(grammar, text)) << text;
  }
}

TEST(GrammarRegex, RefusesByNameWhatItDoesNotKnow) {
  EXPECT_EQ(regex_error("(?=a)b"),
            "unsupported: regex: line 1, column 4: looking ahead or behind is not supported");
  EXPECT_THAT(regex_error("(a)\\1"), HasSubstr("the escape \\1 is not supported"));
  EXPECT_THAT(regex_error("\\bab"), HasSubstr("the escape \\b is not supported"));
  EXPECT_THAT(regex_error("\\p{L}"), HasSubstr("the escape \\p is not supported"));
  EXPECT_THAT(regex_error("a++"), HasSubstr("possessive"));
  EXPECT_THAT(regex_error("(?i)a"), HasSubstr("groups of the form (?i"));
  EXPECT_THAT(regex_error("a^b"), HasSubstr("'^' is supported only at the ends"));
  EXPECT_THAT(regex_error("(a$)"), HasSubstr("'$' is supported only at the ends"));
  EXPECT_THAT(regex_error("a$b"), HasSubstr("'$' is supported only at the ends"));
}

TEST(GrammarRegex, RefusesWhatIsNoExpression) {
  for (const char* pattern : {"(a", "a)", "[a", "*a", "a**", "a{2", "a{3,2}", "[b-a]", "\\x4", "\\",
                              "(?<n", "a{,}", "\\uD800", "\xFF"}) {
    EXPECT_THAT(regex_error(pattern), HasSubstr("invalid: regex")) << pattern;
  }
}

TEST(GrammarRegex, RefusesAnExpressionThatMatchesNothing) {
  EXPECT_EQ(regex_error("[]a]"), "invalid: regex: no text matches");
  EXPECT_EQ(regex_error("a[^\\s\\S]"), "invalid: regex: no text matches");
}

TEST(GrammarRegex, RefusesBombs) {
  EXPECT_THAT(regex_error("((a{1000}){1000}){1000}"),
              AllOf(HasSubstr("exhausted"), HasSubstr("states")));
  EXPECT_THAT(regex_error("(((){100000}){100000}){100000}"), HasSubstr("steps to compile"));
  EXPECT_THAT(regex_error("[ab]*a[ab]{30}"), HasSubstr("exhausted"));
  EXPECT_THAT(regex_error("a{100001}"), HasSubstr("a repetition of more than 100000"));
  EXPECT_THAT(regex_error(std::string(10'000, '(')), HasSubstr("nested deeper than 128"));
  EXPECT_THAT(regex_error(std::string(2'000'000, 'a')), HasSubstr("2000000 bytes"));
}

TEST(GrammarChoice, AllowsTheTextsGiven) {
  const Grammar grammar = compile_choice(std::vector<std::string>{"yes", "yesterday", "né"});
  for (const char* text : {"yes", "yesterday", "né"}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"", "y", "yest", "n", "yess"}) EXPECT_FALSE(matches(grammar, text));
}

TEST(GrammarChoice, RefusesNoTextsInvalidOnesAndTooMany) {
  EXPECT_THROW(compile_choice({}), Error);
  EXPECT_THROW(compile_choice(std::vector<std::string>{"\xFF"}), Error);
  EXPECT_THROW(compile_choice(std::vector<std::string>{"four"}, {.source_bytes = 3}), Error);
  const std::vector<std::string> many(300'000, "same text over and over");
  EXPECT_THROW(compile_choice(many), Error);
}

}  // namespace
}  // namespace parhelion::text
