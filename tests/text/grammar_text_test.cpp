#include "base/error.h"
#include "text/grammar_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

using testing::HasSubstr;

std::string grammar_error(std::string_view text, const GrammarLimits& limits = {}) {
  try {
    compile_grammar_text(text, limits);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.kind()), error.what());
  }
  return "accepted";
}

TEST(GrammarText, ReadsRulesOverLinesWithComments) {
  const Grammar grammar = compile_grammar_text(R"(
    # an expression
    root ::= sum
    sum  ::= term ( [-+]   # signs
             term ) *
    term ::= number
           | "(" sum ')'
    number ::= [0-9]{1,3} ("." [0-9]+)?
  )");
  for (const char* text : {"1", "1+2", "(1-20)+300", "((7))", "1.5-2"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text : {"", "1+", "(1", "1)", "1234", "1.", "a"}) {
    EXPECT_FALSE(matches(grammar, text)) << text;
  }
}

TEST(GrammarText, CountsNestingThatNoRegexCould) {
  const Grammar grammar = compile_grammar_text(R"(root ::= "a" root "b" | "")");
  EXPECT_TRUE(matches(grammar, std::string(5000, 'a') + std::string(5000, 'b')));
  EXPECT_FALSE(matches(grammar, std::string(50, 'a') + std::string(49, 'b')));
  EXPECT_FALSE(may_begin(grammar, std::string(50, 'a') + std::string(51, 'b')));
}

TEST(GrammarText, FollowsAllReadingsOfAnAmbiguousText) {
  const Grammar grammar = compile_grammar_text(R"(
    root ::= "a" root x | "a" root y | "a"
    x ::= "b" "c"?
    y ::= "b" | "cd"
  )");
  EXPECT_TRUE(matches(grammar, std::string(200, 'a') + std::string(199, 'b')));
  EXPECT_TRUE(matches(grammar, "aaabccd"));
  EXPECT_FALSE(matches(grammar, "aaabcccd"));
}

TEST(GrammarText, EndsListsThatRecurOnTheRight) {
  const Grammar grammar = compile_grammar_text(R"(root ::= "a" | "a," root)");
  std::string text = "a";
  for (int i = 0; i < 3000; ++i) text += ",a";
  EXPECT_TRUE(matches(grammar, text));
}

TEST(GrammarText, ReadsEscapesAndAnyCharacter) {
  const Grammar grammar = compile_grammar_text(R"(root ::= "\"\x41\u00e9\n" '\'' . [^\]"])");
  EXPECT_TRUE(matches(grammar, "\"Aé\n'\n]x") == false);
  EXPECT_TRUE(matches(grammar, "\"Aé\n'\nx"));
  EXPECT_FALSE(matches(grammar, "\"Aé\n'\n\""));
}

TEST(GrammarText, NamesTheLineOfAMistake) {
  EXPECT_EQ(grammar_error("root ::= a\na := \"x\""),
            "invalid: grammar: line 2, column 3: expected a part of a rule or the next rule");
  EXPECT_EQ(grammar_error("root ::= (\"a\""),
            "invalid: grammar: line 1, column 14: a ')' is missing");
  EXPECT_EQ(grammar_error("root ::= \"a"), "invalid: grammar: line 1, column 12: ends too early");
  EXPECT_EQ(grammar_error("root ::= \"a\n\""),
            "invalid: grammar: line 1, column 12: a quote is missing");
  EXPECT_EQ(grammar_error("root ::= \"a\"**"),
            "invalid: grammar: line 1, column 15: a repetition of a repetition");
}

TEST(GrammarText, RefusesMissingDoubleAndLeftRecursiveRules) {
  EXPECT_EQ(grammar_error("a ::= \"x\""), "invalid: grammar: rule root is missing");
  EXPECT_EQ(grammar_error(""), "invalid: grammar: rule root is missing");
  EXPECT_EQ(grammar_error("root ::= a"), "invalid: grammar: rule a is missing");
  EXPECT_THAT(grammar_error("root ::= \"a\"\nroot ::= \"b\""),
              HasSubstr("rule root is there twice"));
  EXPECT_THAT(grammar_error("root ::= root \"a\" | \"b\""),
              HasSubstr("rule root is left-recursive: it begins with itself"));
  EXPECT_THAT(grammar_error("root ::= \"x\" | a\na ::= b? a \"y\" | \"z\"\nb ::= \"b\""),
              HasSubstr("rule a is left-recursive"));
}

TEST(GrammarText, RefusesGrammarsWithoutATextAndDropsPartsWithoutOne) {
  EXPECT_EQ(grammar_error("root ::= \"a\" root"), "invalid: grammar: no text matches");
  const Grammar grammar =
      compile_grammar_text("root ::= \"a\" | \"b\" endless\nendless ::= \"c\" endless");
  EXPECT_TRUE(matches(grammar, "a"));
  EXPECT_FALSE(may_begin(grammar, "b"));
}

TEST(GrammarText, KeepsItsLimits) {
  EXPECT_THAT(grammar_error("root ::= " + std::string(500, '(')),
              HasSubstr("nested deeper than 128"));
  EXPECT_THAT(grammar_error("root ::= a\na ::= \"x\"", {.rules = 1}),
              HasSubstr("more than 1 rules"));
  EXPECT_THAT(grammar_error("root ::= \"a\" \"b\"", {.expressions = 2}),
              HasSubstr("more than 2 expressions"));
  EXPECT_THAT(grammar_error("root ::= \"abc\"", {.states = 3}), HasSubstr("more than 3 states"));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 9000; ++i) chain += fmt::format("r{} ::= r{}?\n", i, i + 1);
  EXPECT_TRUE(matches(compile_grammar_text(chain + "r9000 ::= \"x\""), "x"));
}

}  // namespace
}  // namespace parhelion::text
