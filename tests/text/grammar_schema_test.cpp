#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/grammar/json_schema.h"
#include "text/grammar_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

using testing::HasSubstr;

using Texts = std::vector<std::string>;

void expect_schema(std::string_view schema, const Texts& texts, const Texts& others) {
  const TextReader grammar(compile_json_schema_text(schema));
  for (const std::string& text : texts) EXPECT_TRUE(grammar.matches(text)) << schema << text;
  for (const std::string& text : others) EXPECT_FALSE(grammar.matches(text)) << schema << text;
}

std::string schema_error(std::string_view schema, const SchemaOptions& options = {}) {
  try {
    compile_json_schema_text(schema, options);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.kind()), error.what());
  }
  return "accepted";
}

TEST(GrammarSchema, AgreesWithAnotherValidatorOnRandomSchemas) {
  const Json cases = parse_json(read_file(PARHELION_TEST_DATA "/text/grammar/json_schema.json"),
                                "json_schema.json");
  ASSERT_GE(cases.as_array("cases").size(), 100U);
  for (const Json& one : cases.as_array("cases")) {
    const std::string schema = write_json(*one.find("schema"));
    SCOPED_TRACE(schema);
    const TextReader grammar(compile_json_schema(*one.find("schema")));
    for (const Json& text : one.find("accepted")->as_array("accepted")) {
      EXPECT_TRUE(grammar.matches(text.as_string("text"))) << text.as_string("text");
    }
    for (const Json& text : one.find("refused")->as_array("refused")) {
      EXPECT_FALSE(grammar.matches(text.as_string("text"))) << text.as_string("text");
    }
  }
}

TEST(GrammarSchema, ReadsTypes) {
  expect_schema(R"({"type":"null"})", {"null"}, {"0", "\"null\""});
  expect_schema(R"({"type":"boolean"})", {"true", "false"}, {"null", "1"});
  expect_schema(R"({"type":"integer"})", {"0", "-12"}, {"1.5", "1.0", "01", "-0", "1e3"});
  expect_schema(R"({"type":"number"})", {"0", "-1.5", "2e-7"}, {"\"1\"", "-"});
  expect_schema(R"({"type":"string"})", {"\"a\""}, {"a", "1"});
  expect_schema(R"({"type":"array"})", {"[]", "[1, \"a\"]"}, {"{}"});
  expect_schema(R"({"type":"object"})", {"{}", "{\"a\": {\"b\":[]}}"}, {"[]"});
  expect_schema(R"({"type":["integer","null"]})", {"3", "null"}, {"\"3\"", "3.5"});
  expect_schema("{}", {"1", "\"a\"", "[{}]"}, {"x"});
  expect_schema("true", {"1", "{}"}, {"x"});
}

TEST(GrammarSchema, MeansTheTypeThatItsKeywordsSpeakOf) {
  expect_schema(R"({"minLength":2})", {"\"ab\""}, {"\"a\"", "1"});
  expect_schema(R"({"properties":{"a":{"type":"null"}}})", {"{\"a\":null}", "{}"}, {"1"});
}

TEST(GrammarSchema, WritesMembersInTheirOrderAndLeavesOutOptionalOnes) {
  const char* schema = R"({"type":"object","properties":{"a":{"type":"integer"},
    "b":{"type":"null"},"c":{"type":"boolean"}},"required":["b"],"additionalProperties":false})";
  expect_schema(schema,
                {R"({"a":1,"b":null,"c":true})", R"({"b": null})", R"({"b":null, "c":false})",
                 R"({"a": 1, "b": null})"},
                {"{}", R"({"a":1})", R"({"b":null,"a":1})", R"({"b":null,})", R"({,"b":null})",
                 R"({"b":null,"d":1})", R"({"b":null,"b":null})", R"({"a":1"b":null})"});
}

TEST(GrammarSchema, AddsOtherMembersWhereTheSchemaSaysSo) {
  expect_schema(
      R"({"properties":{"ab":{"type":"null"}},"additionalProperties":{"type":"integer"}})",
      {"{}", R"({"ab":null})", R"({"ab":null,"a":1,"abc":2,"":3,"x\"y":4})", R"({"a":1})"},
      {R"({"ab":1})", R"({"a":1,"ab":null})", R"({"a":null})", R"({"\u0061b":1})"});
  expect_schema(R"({"properties":{"a":{}},"additionalProperties":true})", {R"({"b":[1]})"}, {});
  expect_schema(R"({"properties":{"a":{}}})", {R"({"a":[1]})"}, {R"({"b":[1]})"});
  expect_schema(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"});
  expect_schema(R"({"required":["a"]})", {R"({"a":[1]})", R"({"a":1,"b":2})"},
                {"{}", R"({"b":1})"});
  expect_schema(R"({"additionalProperties":{"type":"null"},"minProperties":1,"maxProperties":2})",
                {R"({"a":null})", R"({"a":null,"b":null})"},
                {"{}", R"({"a":null,"b":null,"c":null})"});
}

TEST(GrammarSchema, CountsItems) {
  expect_schema(R"({"items":{"type":"integer"},"minItems":1,"maxItems":3})",
                {"[1]", "[1, 2]", "[1,2,3]"}, {"[]", "[1,2,3,4]", "[null]"});
  expect_schema(R"({"items":{"type":"integer"},"minItems":2})", {"[1,2]", "[1,2,3,4]"},
                {"[]", "[1]"});
  expect_schema(R"({"maxItems":0})", {"[]"}, {"[1]"});
  expect_schema(R"({"prefixItems":[{"type":"null"},{"type":"integer"}],"items":false})",
                {"[]", "[null]", "[null,1]"}, {"[1]", "[null,1,2]"});
  expect_schema(R"({"prefixItems":[{"type":"null"}],"items":{"type":"integer"},"minItems":2})",
                {"[null,1]", "[null,1,2]"}, {"[null]", "[]", "[1,1]"});
  expect_schema(R"({"prefixItems":[{"type":"null"},{"type":"null"}],"maxItems":1})",
                {"[]", "[null]"}, {"[null,null]"});
}

TEST(GrammarSchema, CountsCharactersNotBytes) {
  expect_schema(R"({"minLength":2,"maxLength":3})", {"\"é😀\"", R"("a\n\"")", R"("\u0001ab")"},
                {"\"é\"", "\"abcd\"", "\"\""});
}

TEST(GrammarSchema, LooksForPatternsAnywhere) {
  expect_schema(R"({"pattern":"b+"})", {"\"b\"", "\"abba\"", R"("\"b\\")"}, {"\"a\"", "\"\""});
  expect_schema(R"({"pattern":"^a.*\"$"})", {R"("a\"")", R"("axx\"")"}, {R"("a")", R"("xa\"")"});
}

TEST(GrammarSchema, KnowsFormats) {
  expect_schema(
      R"({"format":"date"})", {"\"2024-02-29\"", "\"2000-02-29\"", "\"1999-12-31\""},
      {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"24-1-1\""});
  expect_schema(R"({"format":"time"})", {"\"23:59:59Z\"", "\"00:00:00.5+01:30\""},
                {"\"24:00:00Z\"", "\"10:00\""});
  expect_schema(R"({"format":"date-time"})", {"\"2024-02-29T10:00:00Z\""}, {"\"2024-02-29\""});
  expect_schema(R"({"format":"duration"})", {"\"P1Y2M3DT4H5M6S\"", "\"P3W\"", "\"PT5M\""},
                {"\"P\"", "\"PT\"", "\"P1D2Y\""});
  expect_schema(R"({"format":"uuid"})", {"\"123e4567-E89b-12d3-a456-426614174000\""},
                {"\"123e4567\""});
  expect_schema(R"({"format":"email"})", {"\"a.b@c.org\""},
                {"\"a@b\"", "\"a b@c.org\"", "\"@c.org\""});
  expect_schema(R"({"format":"ipv4"})", {"\"255.0.10.199\""},
                {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""});
  expect_schema(R"({"format":"ipv6"})",
                {"\"::\"", "\"1::8\"", "\"fe80::1:2\"", "\"1:2:3:4:5:6:7:8\""},
                {"\":\"", "\"1:2\"", "\"1::2::3\"", "\"1:2:3:4:5:6:7:8:9\"", "\"12345::\""});
  expect_schema(R"({"format":"hostname"})", {"\"a-b.example\""}, {"\"-a\"", "\"a..b\""});
  expect_schema(R"({"format":"uri"})", {"\"https://a.org:80/b%20c?d=1#e\""},
                {"\"a.org\"", "\"https://a b\""});
  expect_schema(R"({"type":"integer","format":"int32"})", {"1"}, {"\"1\""});
}

/// Integers of a range against counting them.
void expect_integers(int low, int high) {
  const TextReader grammar(compile_json_schema_text(
      fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", low, high)));
  for (int value = low - 12; value <= high + 12; ++value) {
    EXPECT_EQ(grammar.matches(fmt::format("{}", value)), value >= low && value <= high)
        << low << " " << high << " " << value;
  }
}

TEST(GrammarSchema, KeepsIntegersInTheirRange) {
  expect_integers(0, 0);
  expect_integers(-5, 17);
  expect_integers(7, 1234);
  expect_integers(-1021, -98);
  expect_integers(99, 101);
  expect_schema(R"({"type":"integer","exclusiveMinimum":1.5,"exclusiveMaximum":4})", {"2", "3"},
                {"1", "4"});
  expect_schema(R"({"type":"integer","minimum":-0.5})", {"0", "123456789012345678"}, {"-1", "-0"});
}

/// Hundredths of a range of numbers against counting them.
void expect_numbers(int low, int high, bool is_open) {
  const char* open = is_open ? "exclusiveM" : "m";
  const TextReader grammar(compile_json_schema_text(fmt::format(
      R"({{"type":"number","{0}inimum":{1},"{0}aximum":{2}}})", open, low / 100.0, high / 100.0)));
  for (int value = low - 150; value <= high + 150; ++value) {
    const bool is_inside = is_open ? value > low && value < high : value >= low && value <= high;
    const char* sign = value < 0 ? "-" : "";
    const int size = std::abs(value);
    const std::string text = fmt::format("{}{}.{:02}", sign, size / 100, size % 100);
    EXPECT_EQ(grammar.matches(text), is_inside) << low << " " << high << " " << text;
    EXPECT_EQ(grammar.matches(text + "0"), is_inside) << low << " " << high << " " << text;
    if (value % 100 == 0 && value != 0) {
      EXPECT_EQ(grammar.matches(fmt::format("{}", value / 100)), is_inside) << low << " " << high;
    }
  }
}

TEST(GrammarSchema, KeepsNumbersInTheirRange) {
  for (const bool is_open : {false, true}) {
    expect_numbers(0, 100, is_open);
    expect_numbers(-250, 175, is_open);
    expect_numbers(1005, 1234, is_open);
    expect_numbers(-1999, -1950, is_open);
    expect_numbers(325, 325 + 1, is_open);
  }
  expect_schema(R"({"type":"number","exclusiveMinimum":0})", {"0.00000000000000001", "5"},
                {"0", "0.0", "-1"});
  expect_schema(R"({"type":"number","maximum":1e-3})", {"0.001", "-5.5", "0"}, {"0.0011", "1"});
}

TEST(GrammarSchema, ReadsEnumAndConst) {
  expect_schema(R"({"enum":["a","é\"",1,null,[1,"x"],{"k":true}]})",
                {"\"a\"", R"("é\"")", "1", "null", R"([1,"x"])", R"({"k":true})"},
                {"2", "\"\"", "[1]"});
  expect_schema(R"({"const":"only"})", {"\"only\""}, {"\"other\""});
  expect_schema(R"({"type":"string","enum":["a",1],"minLength":1})", {"\"a\""}, {"1"});
  expect_schema(R"({"enum":[1,2,3],"maximum":2,"allOf":[{"enum":[2.0,3]}]})", {"2"}, {"1", "3"});
}

TEST(GrammarSchema, CombinesSchemas) {
  expect_schema(R"({"anyOf":[{"type":"null"},{"type":"integer","minimum":5}]})", {"null", "5"},
                {"4"});
  expect_schema(R"({"type":"integer","minimum":5,"anyOf":[{"maximum":6},{"minimum":9}]})",
                {"5", "6", "9"}, {"4", "7", "8"});
  expect_schema(R"({"allOf":[{"minimum":2},{"maximum":3}],"type":"integer"})", {"2", "3"},
                {"1", "4"});
  expect_schema(R"({"allOf":[{"properties":{"a":{"minimum":2}},"required":["a"]},
                    {"properties":{"a":{"type":"integer"},"b":{"type":"null"}},"additionalProperties":false}]})",
                {R"({"a":2})", R"({"a":3,"b":null})"}, {R"({"a":1})", "{}", R"({"b":null})"});
  expect_schema(R"({"properties":{"a":{"type":"null"},"b":{"type":"null"}},
                    "anyOf":[{"required":["a"]},{"required":["b"]}]})",
                {R"({"a":null})", R"({"b":null})", R"({"a":null,"b":null})"}, {"{}"});
}

TEST(GrammarSchema, ReadsOneOfWhereAlternativesExcludeEachOther) {
  expect_schema(R"({"oneOf":[{"type":"string"},{"type":"integer"},{"const":null}]})",
                {"1", "\"a\"", "null"}, {"1.5"});
  expect_schema(
      R"({"oneOf":[{"properties":{"k":{"const":"a"},"v":{"type":"null"}},"required":["k"]},
                             {"properties":{"k":{"const":"b"}},"required":["k"]}]})",
      {R"({"k":"a","v":null})", R"({"k":"b"})"}, {R"({"k":"c"})"});
  EXPECT_THAT(
      schema_error(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})"),
      HasSubstr("unsupported: json schema: #/oneOf: alternatives 0 and 1 may hold at once"));
}

TEST(GrammarSchema, FollowsReferencesAlsoInCircles) {
  const char* schema = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
    "v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
    "required":["v","next"],"additionalProperties":false}}})";
  expect_schema(schema, {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
                {R"({"v":1})", R"({"v":1,"next":{"v":2}})"});
  expect_schema(R"({"items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]", "[[1]]"});
  expect_schema(R"({"$ref":"#/definitions/a~1b%25","definitions":{"a/b%":{"type":"null"}}})",
                {"null"}, {"1"});
  expect_schema(R"({"$ref":"#/anyOf/1","anyOf":[{"type":"null"},{"type":"integer"}]})", {"1"},
                {"null"});
}

TEST(GrammarSchema, FollowsReferencesToAlternatives) {
  const std::string defs = R"("$defs":{"u":{"anyOf":[{"type":"integer"},{"type":"null"}]},)"
                           R"("a":{"anyOf":[{"$ref":"#/$defs/u"},{"type":"boolean"}]},)"
                           R"("o":{"oneOf":[{"type":"integer"},{"type":"string"}]}})";
  const auto expect = [&](std::string_view schema, const Texts& texts, const Texts& others) {
    expect_schema(fmt::format("{{{},{}}}", schema, defs), texts, others);
  };
  expect(R"("$ref":"#/$defs/u")", {"1", "null"}, {"true", "\"a\""});
  expect(R"("$ref":"#/$defs/a")", {"1", "null", "true"}, {"\"a\""});
  expect(R"("$ref":"#/$defs/o")", {"1", "\"a\""}, {"null"});
  expect(R"("allOf":[{"$ref":"#/$defs/a"},{"type":["integer","boolean"]}])", {"1", "true"},
         {"null"});
  expect(R"("allOf":[{"anyOf":[{"type":"integer"},{"type":"null"}]}])", {"1", "null"}, {"true"});
  expect(R"("items":{"$ref":"#/$defs/u"})", {"[]", "[1,null]"}, {"[true]"});
  expect(R"("properties":{"x":{"$ref":"#/$defs/u"}})", {"{}", R"({"x":1})"}, {R"({"x":true})"});
  expect(R"("anyOf":[{"$ref":"#/$defs/u"},{"$ref":"#/$defs/o"}])", {"1", "null", "\"a\""},
         {"true"});
}

TEST(GrammarSchema, HoldsNothingOnlyBecauseItHolds) {
  expect_schema(R"({"anyOf":[{"$ref":"#"},{"type":"string"}]})", {"\"a\""}, {"1", "null"});
  expect_schema(
      R"({"$ref":"#/$defs/u","$defs":{"u":{"anyOf":[{"$ref":"#/$defs/v"},{"type":"null"}]},
    "v":{"anyOf":[{"$ref":"#/$defs/u"},{"type":"string"}]}}})",
      {"\"a\"", "null"}, {"1", "{}"});
}

TEST(GrammarSchema, WritesMembersInTheOrderOfPropertiesWhereverRequiredStands) {
  expect_schema(R"({"required":["b","a"],"properties":{"a":{},"b":{}}})", {R"({"a":1,"b":2})"},
                {R"({"b":2,"a":1})", R"({"a":1})"});
}

TEST(GrammarSchema, IgnoresAnnotationsAlone) {
  expect_schema(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"a","title":"t",
    "description":"d","default":1,"examples":[2],"x-order":3,"deprecated":true,"discriminator":{"propertyName":"p"},"type":"integer"})",
                {"5"}, {"null"});
}

TEST(GrammarSchema, RefusesOtherKeywordsByNameAndPath) {
  for (const char* keyword : {"multipleOf",
                              "not",
                              "if",
                              "then",
                              "else",
                              "patternProperties",
                              "propertyNames",
                              "contains",
                              "minContains",
                              "maxContains",
                              "dependentRequired",
                              "dependentSchemas",
                              "uniqueItems",
                              "unevaluatedItems",
                              "unevaluatedProperties",
                              "additionalItems",
                              "$anchor",
                              "$dynamicRef",
                              "nullable",
                              "unknown"}) {
    const std::string schema = fmt::format(R"({{"properties":{{"a/b":{{"{}":true}}}}}})", keyword);
    EXPECT_EQ(
        schema_error(schema),
        fmt::format("unsupported: json schema: #/properties/a~1b: keyword {} is not supported",
                    keyword));
    EXPECT_EQ(schema_error(schema, {.unsupported = UnsupportedKeywords::ignore}), "accepted");
  }
  EXPECT_EQ(schema_error(R"({"format":"iri"})"),
            "unsupported: json schema: #/format: format iri is not supported");
  EXPECT_THAT(schema_error(R"({"pattern":"a","minLength":2})"), HasSubstr("beside each other"));
  EXPECT_THAT(schema_error(R"~({"pattern":"(?=a)"})~"),
              HasSubstr("#/pattern: json schema: line 1"));
  EXPECT_THAT(schema_error(R"({"enum":["a"],"pattern":"b"})"), HasSubstr("enum or const beside"));
  EXPECT_THAT(schema_error(R"({"$ref":"https://a.org"})"), HasSubstr("$ref leaves the document"));
  EXPECT_THAT(schema_error(R"({"properties":{"a":{}},"minProperties":1})"),
              HasSubstr("minProperties"));
}

TEST(GrammarSchema, RefusesWhatIsNoSchema) {
  for (const char* schema :
       {"1", R"({"type":"text"})", R"({"type":1})", R"({"minimum":"a"})", R"({"minLength":-1})",
        R"({"minLength":1.5})", R"({"properties":[]})", R"({"properties":{"a":1}})",
        R"({"items":[]})", R"({"required":"a"})", R"({"required":[1]})", R"({"anyOf":{}})",
        R"({"anyOf":[]})", R"({"allOf":1})", R"({"enum":1})", R"({"$ref":1})", R"({"$ref":"#/a"})",
        R"({"pattern":1})"}) {
    EXPECT_THAT(schema_error(schema), HasSubstr("invalid: json schema: #")) << schema;
  }
  EXPECT_THAT(schema_error("{"), HasSubstr("corrupt: json schema: no JSON"));
  EXPECT_THAT(schema_error(R"({"type":"null","type":"null"})"),
              HasSubstr("key 'type' is repeated"));
}

TEST(GrammarSchema, RefusesSchemasThatNothingSatisfies) {
  for (const char* schema :
       {"false", R"({"type":"string","minLength":3,"maxLength":2})",
        R"({"type":"integer","minimum":3,"maximum":2})",
        R"({"type":"number","exclusiveMinimum":1,"maximum":1})", R"({"minItems":2,"maxItems":1})",
        R"({"properties":{"a":false},"required":["a"]})",
        R"({"required":["a"],"properties":{},"additionalProperties":false})",
        R"({"type":"string","enum":[1,2]})", R"({"enum":[]})",
        R"({"allOf":[{"type":"null"},{"type":"string"}]})",
        R"({"prefixItems":[true,false],"minItems":2})", R"({"items":false,"minItems":1})",
        R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})",
        R"({"type":"object","minProperties":2,"maxProperties":1})"}) {
    EXPECT_EQ(schema_error(schema), "invalid: json schema: no text matches") << schema;
  }
}

TEST(GrammarSchema, LeavesOutMembersAndItemsThatCannotBe) {
  expect_schema(R"({"properties":{"a":false,"b":{"type":"null"}}})", {"{}", R"({"b":null})"},
                {R"({"a":1})"});
  expect_schema(R"({"prefixItems":[{"type":"null"},false]})", {"[]", "[null]"}, {"[null,null]"});
}

TEST(GrammarSchema, KeepsItsLimits) {
  EXPECT_THAT(schema_error(R"({"type":"string","maxLength":10000000})"),
              HasSubstr("exhausted: json schema: needs more than"));
  EXPECT_THAT(schema_error(R"({"type":"array","minItems":99999999999})"), HasSubstr("exhausted"));
  EXPECT_THAT(schema_error(R"({"minItems":1e30})"), HasSubstr("a count above"));
  EXPECT_THAT(schema_error(R"({"minimum":1e30})"), HasSubstr("a bound with more than 18 digits"));
  EXPECT_THAT(schema_error(std::string(10'000, '[')), HasSubstr("no JSON"));
  std::string nested = "{}";
  for (int i = 0; i < 150; ++i) nested = R"({"items":)" + nested + "}";
  EXPECT_THAT(schema_error(nested), HasSubstr("nested deeper than 128"));
  EXPECT_THAT(schema_error("{}", {.limits = {.source_bytes = 1}}),
              HasSubstr("2 bytes, expected at most 1"));
  std::string bomb = R"({"$defs":{"d0":{"type":"null"})";
  for (int i = 1; i < 40; ++i) {
    bomb += fmt::format(
        R"(,"d{0}":{{"type":"array","prefixItems":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}})",
        i, i - 1);
  }
  EXPECT_EQ(schema_error(bomb + R"(},"$ref":"#/$defs/d39"})"), "accepted");
}

TEST(GrammarSchema, CompilesAGiantEnum) {
  std::string schema = R"({"enum":[)";
  for (int i = 0; i < 20'000; ++i) schema += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i * 7919);
  const TextReader grammar(compile_json_schema_text(schema + "]}"));
  EXPECT_TRUE(grammar.matches("\"v7919\""));
  EXPECT_FALSE(grammar.matches("\"v7918\""));
}

}  // namespace
}  // namespace parhelion::text
