#include "text/grammar/json_schema.h"
#include "text/grammar_support.h"

#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

TEST(GrammarJson, AllowsEveryValueInBoundedWhiteSpace) {
  const Grammar grammar = compile_json(JsonRoot::value);
  for (const char* text :
       {"null", "true", "false", "0", "-1", "12.5e-3", "\"\"", "[]", "{}", "[1, 2,3]",
        "{\"a\": [{\"b\":null}, \"c\"], \"\":0}", "1.0E+05", "-0.0"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text :
       {"",        " 1",    "1 ",  "[ 1]",  "[1,  2]", "{\"a\" :1}", "[1,]", "{,}",
        "{\"a\"}", "{a:1}", "nul", "01",    "1.",      ".5",         "+1",   "1e",
        "1e123",   "NaN",   "'a'", "[1 2]", "\"a",     "tru e"}) {
    EXPECT_FALSE(matches(grammar, text)) << text;
  }
}

TEST(GrammarJson, AllowsObjectsAloneWhereOneIsAskedFor) {
  const Grammar grammar = compile_json(JsonRoot::object);
  EXPECT_TRUE(matches(grammar, "{\"a\":[{}]}"));
  EXPECT_FALSE(may_begin(grammar, "["));
  EXPECT_FALSE(may_begin(grammar, "1"));
}

TEST(GrammarJson, LeavesOutWhiteSpaceIfTold) {
  const Grammar grammar = compile_json(JsonRoot::value, JsonSpaces::none);
  EXPECT_TRUE(matches(grammar, "{\"a b\":[1,2]}"));
  EXPECT_FALSE(may_begin(grammar, "{\"a\": "));
  EXPECT_FALSE(may_begin(grammar, "[1, "));
}

TEST(GrammarJson, HoldsStringsToEscapesAndUtf8) {
  const Grammar grammar = compile_json(JsonRoot::value);
  for (const char* text : {R"("\"\\\/\b\f\n\r\t")", R"("\u0041\uFFFF\u00e9")", R"("\uD83D\uDE00")",
                           R"("\ud83d\ude00x")", "\"\x7F\"", "\"é中😀\""}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text :
       {R"("\x41")", R"("\u00g0")", R"("\u123")", R"("\uD83D")", R"("\uD83D\u0041")", R"("\uDE00")",
        "\"\n\"", "\"\t\"", "\"\xFF\"", "\"\xC3\"", "\"\xED\xA0\x80\"", "\"\xC0\x80\""}) {
    EXPECT_FALSE(matches(grammar, text)) << text;
  }
}

TEST(GrammarJson, BoundsTheDigitsOfANumber) {
  const Grammar grammar = compile_json(JsonRoot::value);
  EXPECT_TRUE(matches(grammar, std::string(18, '9') + "." + std::string(17, '3')));
  EXPECT_FALSE(may_begin(grammar, std::string(19, '9')));
  EXPECT_FALSE(may_begin(grammar, "0." + std::string(18, '3')));
}

TEST(GrammarJson, CountsDeepNesting) {
  const Grammar grammar = compile_json(JsonRoot::value);
  const std::string open(10'000, '[');
  EXPECT_TRUE(matches(grammar, open + std::string(10'000, ']')));
  EXPECT_FALSE(may_begin(grammar, open + std::string(10'001, ']')));
  EXPECT_FALSE(may_begin(grammar, open + "}"));
}

}  // namespace
}  // namespace parhelion::text
