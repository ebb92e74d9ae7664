#include "text/grammar/placed_schema.h"

#include "text/grammar/json_schema.h"
#include "text/grammar_support.h"
#include "text/reply/forced_call.h"
#include "text/reply_support.h"

#include <gtest/gtest.h>

namespace parhelion::text {
namespace {

Json schema_of(const char* text) { return parse_json(text, "schema"); }

TEST(PlacedSchema, LeadsReferencesToWhereItStands) {
  EXPECT_EQ(write_json(placed_schema(
                schema_of(R"({"$ref":"#/$defs/a","items":[{"$ref":"#"}],"$defs":{"a":true}})"),
                "/properties/x")),
            R"({"$ref":"#/properties/x/$defs/a","items":[{"$ref":"#/properties/x"}],)"
            R"("$defs":{"a":true}})");
}

TEST(PlacedSchema, LeavesValuesAndOtherDocumentsAlone) {
  for (const char* same : {R"({"const":{"$ref":"#/a"}})", R"({"enum":[{"$ref":"#"}]})",
                           R"({"$ref":"http://x/y#/a"})", R"({"properties":{"a":true}})"})
    EXPECT_EQ(write_json(placed_schema(schema_of(same), "/p")), same);
  EXPECT_EQ(write_json(placed_schema(schema_of(R"({"properties":{"const":{"$ref":"#"}}})"), "/p")),
            R"({"properties":{"const":{"$ref":"#/p"}}})");
}

/// A tree: a schema of its own definitions, which leads back to itself.
constexpr const char* kTools =
    R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":)"
    R"({"t":{"$ref":"#/$defs/tree"}},"required":["t"],"additionalProperties":false,"$defs":)"
    R"({"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":)"
    R"("#/$defs/tree"}}},"required":["kids"],"additionalProperties":false}}}}},)"
    R"({"type":"function","function":{"name":"g"}}])";

TEST(ForcedCalls, TakeParametersWithDefinitions) {
  const std::vector<Tool> tools = read_tools(parse_json(kTools, "tools"));
  for (const char* format : {"tool_call", "bracket_list", "sep_plain"}) {
    for (const std::optional<std::string>& choice : {std::optional<std::string>("f"), {}}) {
      const auto calls = forced_calls(tool_format(format), tools, choice, CallCount::several);
      const ToolFormat& made = tool_format(format);
      const std::string tree = R"({"t": {"kids": [{"kids": []}]}})";
      const std::string call =
          R"({")" + made.name_key + R"(": "f", ")" + made.arguments_key + R"(": )" + tree + "}";
      const std::string text = made.kind == ToolCallKind::json_list     ? "[" + call + "]"
                               : made.kind == ToolCallKind::json_object ? call
                                                                        : tree;
      EXPECT_TRUE(matches(compile_json_schema(calls.front().schema), text)) << format;
    }
  }
}

}  // namespace
}  // namespace parhelion::text
