// What hostile texts may cost: tests that would take minutes, not ones that are timed.
#include "base/error.h"
#include "text/grammar/json_schema.h"
#include "text/grammar_support.h"
#include "text/utf8.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

TEST(GrammarCost, OfALargeClassGrowsWithItsLength) {
  std::string pattern = "[";
  for (char32_t point = 0x2FFFF; point > 0x10000; point -= 2) append_utf8(point, pattern);
  pattern += "]";
  const Grammar grammar = compile_regex(pattern);
  std::string point;
  append_utf8(0x2FFFD, point);
  EXPECT_TRUE(matches(grammar, point));
  point.clear();
  append_utf8(0x2FFFE, point);
  EXPECT_FALSE(matches(grammar, point));
}

TEST(GrammarCost, OfComparingAlternativesIsBounded) {
  std::string object = R"({"type":"object","required":[)";
  std::string properties;
  for (int i = 0; i < 400; ++i) {
    object += fmt::format(R"({}"p{}")", i == 0 ? "" : ",", i);
    properties += fmt::format(R"({}"p{}":{{"type":"string"}})", i == 0 ? "" : ",", i);
  }
  object += R"(],"properties":{)" + properties + "}}";
  std::string schema = R"({"oneOf":[)" + object;
  for (int i = 0; i < 30; ++i) schema += "," + object;
  // Two that may hold at once are found first; made to differ at the end only, all are compared.
  std::size_t at = 0;
  for (int i = 0; i < 31; ++i) {
    const std::string_view last = R"("p399":{"type":"string"})";
    at = schema.find(last, at);
    schema.replace(at, last.size(), fmt::format(R"("p399":{{"const":{}}})", i));
  }
  EXPECT_THAT([&] { compile_json_schema_text(schema + "]}"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("take too long to compare")));
}

}  // namespace
}  // namespace parhelion::text
