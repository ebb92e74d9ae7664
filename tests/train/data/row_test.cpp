#include "train/data/row.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

using testing::ThrowsMessage;

void expect_refused(std::string_view line, const char* message) {
  EXPECT_THAT([&] { parse_row(line); }, ThrowsMessage<Error>(message)) << line;
}

TEST(Row, ReadsTheThreeKinds) {
  EXPECT_EQ(std::get<TextRow>(parse_row(R"({"text":"a\nb"})")).text, "a\nb");
  const auto completion = std::get<CompletionRow>(parse_row(R"({"completion":"c","prompt":"p"})"));
  EXPECT_EQ(completion.prompt + "|" + completion.completion, "p|c");
  const auto chat =
      std::get<ChatRow>(parse_row(R"({"messages":[{"role":"user","content":"q"}],"tools":[1]})"));
  EXPECT_EQ(write_json(chat.messages), R"([{"role":"user","content":"q"}])");
  EXPECT_EQ(write_json(chat.tools), "[1]");
}

TEST(Row, PassesOverOtherKeysAndACarriageReturn) {
  EXPECT_EQ(std::get<TextRow>(parse_row("{\"id\":7,\"text\":\"a\",\"meta\":{}}\r")).text, "a");
}

TEST(Row, TakesATurnThatOnlyCallsTools) {
  const auto row =
      parse_row(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[]},)"
                R"({"role":"assistant","tool_calls":[]},{"role":"tool","content":[]}]})");
  EXPECT_EQ(std::get<ChatRow>(row).messages.size(), 3u);
}

TEST(Row, SaysWhatIsWrong) {
  expect_refused(R"({"text":"a)", "row: no JSON at byte 10: incomplete JSON");
  expect_refused(R"(["text"])", "row: is array, expected object");
  expect_refused(R"({"text":3})", "text: is integer, expected string");
  expect_refused(R"({"content":"a"})",
                 "row: has 0 of these, expected one: text; prompt and completion; messages");
  expect_refused(R"({"text":"a","prompt":"p","completion":"c"})",
                 "row: has 2 of these, expected one: text; prompt and completion; messages");
  expect_refused(R"({"prompt":"p"})", "row: has no completion, expected prompt and completion");
  expect_refused(R"({"completion":"c"})", "row: has no prompt, expected prompt and completion");
  expect_refused(R"({"prompt":"p","completion":["c"]})", "completion: is array, expected string");
}

TEST(Row, SaysWhichTurnIsWrong) {
  expect_refused(R"({"messages":"hello"})", "messages: is string, expected array");
  expect_refused(R"({"messages":[]})", "messages: is empty, expected turns");
  expect_refused(R"({"messages":[{"role":"user","content":"q"},"a"]})",
                 "turn 2 is string, expected object");
  expect_refused(R"({"messages":[{"content":"q"}]})", "turn 1: role is missing, expected string");
  expect_refused(R"({"messages":[{"role":1,"content":"q"}]})",
                 "turn 1: role is integer, expected string");
  expect_refused(R"({"messages":[{"role":"user"}]})",
                 "turn 1: content is missing, expected string or array");
  expect_refused(R"({"messages":[{"role":"user","content":5}]})",
                 "turn 1: content is integer, expected string or array");
  expect_refused(R"({"messages":[{"role":"user","content":"q"}],"tools":{}})",
                 "tools: is object, expected array");
}

TEST(Row, RefusesBytesThatAreNoUtf8) { EXPECT_THROW(parse_row("{\"text\":\"\xFF\"}"), Error); }

}  // namespace
}  // namespace parhelion::train
