#include "text/reply/forced_call.h"

#include "base/error.h"
#include "text/reply/tool_call_parser.h"
#include "text/reply_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace parhelion::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Json parse(const char* text) { return parse_json(text, "test"); }

std::vector<Tool> two_tools() {
  return read_tools(parse(
      R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["a"]}}},)"
      R"({"type":"function","function":{"name":"g"}}])"));
}

std::string text_of(const ForcedCall& call) {
  return call.before + "|" + write_json(call.schema) + "|" + call.after;
}

TEST(ReadTools, TakesNamesAndSchemas) {
  const std::vector<Tool> tools = two_tools();
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_EQ(tools[0].name, "f");
  EXPECT_EQ(write_json(tools[1].parameters), R"({"type":"object"})");
}

TEST(ReadTools, RefusesBadToolsByTheirPlace) {
  const auto expect = [](const char* text, const char* message) {
    EXPECT_THAT([&] { read_tools(parse(text)); }, ThrowsMessage<Error>(HasSubstr(message))) << text;
  };
  expect(R"({})", "tools: is object, expected array");
  expect(R"([{"function":{"name":"f"}}])", "tools[0].type is missing");
  expect(R"([{"type":"search"}])", "tools[0].type is 'search', expected 'function'");
  expect(R"([{"type":"function"}])", "tools[0].function is missing");
  expect(R"([{"type":"function","function":{}}])", "tools[0].function.name is missing");
  expect(R"([{"type":"function","function":{"name":"a b"}}])",
         "tools[0].function.name is 'a b', expected 1 to 64 letters, digits, _ and -");
  expect(R"([{"type":"function","function":{"name":"f","parameters":[]}}])",
         "tools[0].function.parameters is array, expected an object");
  expect(
      R"([{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}])",
      "tools[1].function.name 'f' is there twice, expected once");
}

TEST(ForcedCalls, WriteAnObjectWithTheNameFixed) {
  const auto calls = forced_calls(tool_format("tool_call"), two_tools(), "f", CallCount::one);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(
      text_of(calls[0]),
      "<tool_call>\n|{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"f\"},\"arguments\":"
      "{\"type\":\"object\",\"required\":[\"a\"]}},\"required\":[\"name\",\"arguments\"],"
      "\"additionalProperties\":false}|\n</tool_call>");
}

TEST(ForcedCalls, GiveOneWayForEachFunctionIfNoneIsChosen) {
  const auto calls = forced_calls(tool_format("sep_plain"), two_tools(), {}, CallCount::several);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(text_of(calls[1]),
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>|{\"type\":\"object\"}|"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>");
}

TEST(ForcedCalls, BoundAListToOneCallIfAskedTo) {
  const ToolFormat format = tool_format("bracket_list");
  const auto several = forced_calls(format, two_tools(), {}, CallCount::several);
  ASSERT_EQ(several.size(), 1U);
  EXPECT_THAT(text_of(several[0]), HasSubstr("\"anyOf\""));
  EXPECT_THAT(text_of(several[0]), testing::Not(HasSubstr("\"maxItems\"")));
  EXPECT_THAT(text_of(forced_calls(format, two_tools(), "g", CallCount::one)[0]),
              HasSubstr("\"minItems\":1,\"maxItems\":1"));
}

TEST(ForcedCalls, RefuseWhatTheyCannotForce) {
  EXPECT_THAT([] { forced_calls(tool_format("tool_call"), two_tools(), "h", CallCount::one); },
              ThrowsMessage<Error>("tool_choice needs function 'h', which tools does not have"));
  EXPECT_THAT([] { forced_calls(tool_format("tool_call"), {}, {}, CallCount::one); },
              ThrowsMessage<Error>("tool_choice needs a function, which tools does not have"));
  EXPECT_THAT(
      [] { forced_calls(tool_format("arg_key"), two_tools(), "f", CallCount::one); },
      ThrowsMessage<Error>("a forced call in tool call format 'arg_key' is not supported: its "
                           "arguments are no JSON"));
}

/// JSON that follows the schema of a forced call in this test.
std::string obedient_json(const ToolFormat& format) {
  const std::string call =
      "{\"" + format.name_key + "\": \"f\", \"" + format.arguments_key + "\": {\"a\": 1}}";
  if (format.kind == ToolCallKind::json_list) return "[" + call + "]";
  return format.kind == ToolCallKind::json_object ? call : "{\"a\": 1}";
}

TEST(ForcedCalls, AreReadBackInEachFormat) {
  for (const std::string_view name : tool_format_names()) {
    const ToolFormat format = tool_format(name);
    if (format.kind == ToolCallKind::parameters) continue;
    const ForcedCall call = forced_calls(format, two_tools(), "f", CallCount::one).at(0);
    ToolCallParser parser(format);
    ReplyEvents events;
    parser.push(call.before + obedient_json(format) + call.after, events);
    parser.finish(events);
    EXPECT_EQ(describe(events), "[0 f|{\"a\": 1}]") << name;
  }
}

}  // namespace
}  // namespace parhelion::text
