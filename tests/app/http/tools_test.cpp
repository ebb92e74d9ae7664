#include "app/http/tools_support.h"

#include <set>

namespace parhelion::app {
namespace {

constexpr const char* kReply =
    "<think>hm</think>ok<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";
TEST_F(ToolsTest, TellsThoughtsTextAndCallsApart) {
  say(kReply);
  start();
  const Json choice = choice_of(chat(kTool));
  const Json& message = *choice.find("message");
  EXPECT_EQ(*message.find("reasoning_content"), Json("hm"));
  EXPECT_EQ(*message.find("content"), Json("ok"));
  EXPECT_EQ(*choice.find("finish_reason"), Json("tool_calls"));
  const Json& call = message.find("tool_calls")->as_array("calls").front();
  EXPECT_TRUE(call.find("id")->as_string("id").starts_with("call_"));
  EXPECT_EQ(write_json(*call.find("function")), R"({"name":"f","arguments":"{\"a\": 1}"})");
  const std::string prompt = served_.tokenizer.decode(engine_->requests().front().prompt);
  EXPECT_TRUE(prompt.starts_with("f user: hi"));
}

TEST_F(ToolsTest, StreamsACallInPieces) {
  say(kReply);
  start();
  std::string name;
  std::string arguments;
  std::string id;
  for (const std::string& event : events_of(chat(kTool + R"(,"stream":true)").body)) {
    if (event == "[DONE]") continue;
    const Json chunk = parse_json(event, "event");
    const Json& delta = *chunk.find("choices")->as_array("choices").front().find("delta");
    const Json* calls = delta.find("tool_calls");
    if (calls == nullptr) continue;
    const Json& call = calls->as_array("calls").front();
    EXPECT_EQ(*call.find("index"), Json(0));
    if (const Json* given = call.find("id")) id += given->as_string("id");
    if (const Json* given = call.find("function")->find("name")) name += given->as_string("name");
    arguments += call.find("function")->find("arguments")->as_string("arguments");
  }
  EXPECT_EQ(name, "f");
  EXPECT_EQ(arguments, "{\"a\": 1}");
  EXPECT_EQ(id.size(), 29U);
}

TEST_F(ToolsTest, LeavesCallsInTheTextWithoutTools) {
  say("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>");
  start();
  const Json choice = choice_of(chat(R"("n":1)"));
  EXPECT_EQ(*choice.find("finish_reason"), Json("stop"));
  EXPECT_NE(choice.find("message")->find("content")->as_string("c").find("<tool_call>"),
            std::string::npos);
}

TEST_F(ToolsTest, EndsBehindOneCallWhereOnlyOneMayBe) {
  say(std::string(kReply) + "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 2}}</tool_call>");
  start();
  const Json several = choice_of(chat(kTool));
  EXPECT_EQ(several.find("message")->find("tool_calls")->as_array("calls").size(), 2U);
  const Json one = choice_of(chat(kTool + R"(,"parallel_tool_calls":false)"));
  EXPECT_EQ(one.find("message")->find("tool_calls")->as_array("calls").size(), 1U);
  EXPECT_EQ(*one.find("finish_reason"), Json("tool_calls"));
}

class EnforcedTest : public ToolsTest, public testing::WithParamInterface<std::string> {};

TEST_P(EnforcedTest, MakesACallThatFitsItsSchema) {
  model_.draw = [](const serve::Request& request, std::int64_t, std::int64_t index) {
    return static_cast<std::int32_t>((request.seed + 37 * static_cast<std::uint64_t>(index)) % 320);
  };
  served_ = tiny_model();  // its template shows no tools: a call can still be enforced
  start();
  const Json choice = choice_of(chat(kTool + R"(,"seed":5,"tool_choice":)" + GetParam()));
  const Json* calls = choice.find("message")->find("tool_calls");
  ASSERT_NE(calls, nullptr) << write_json(choice);
  const Json& function = *calls->as_array("calls").front().find("function");
  EXPECT_EQ(*function.find("name"), Json("f"));
  const Json arguments = parse_json(function.find("arguments")->as_string("a"), "arguments");
  EXPECT_TRUE(arguments == Json(Json::Object{{"a", 1}}) ||
              arguments == Json(Json::Object{{"a", 2}}));
}

INSTANTIATE_TEST_SUITE_P(Choices, EnforcedTest,
                         testing::Values(R"("required")",
                                         R"({"type":"function","function":{"name":"f"}})"));

TEST_F(ToolsTest, WritesAnEnforcedCallAsTheModelWritesCalls) {
  model_.draw = [](const serve::Request& request, std::int64_t, std::int64_t index) {
    return static_cast<std::int32_t>((request.seed + 37 * static_cast<std::uint64_t>(index)) % 320);
  };
  start();
  const Json choice =
      choice_of(chat(kTool + R"(,"seed":5,"tool_choice":"required","return_token_ids":true)"));
  std::vector<std::int32_t> ids;
  for (const Json& id : choice.find("token_ids")->as_array("ids"))
    ids.push_back(static_cast<std::int32_t>(id.as_int64("id")));
  const std::string text = served_.tokenizer.decode(ids);
  EXPECT_TRUE(text.starts_with("<tool_call>\n{")) << text;
  EXPECT_TRUE(text.ends_with("}\n</tool_call>")) << text;
  EXPECT_EQ(choice.find("message")->find("tool_calls")->as_array("calls").size(), 1U);
  EXPECT_EQ(*choice.find("finish_reason"), Json("tool_calls"));
}

TEST_F(ToolsTest, LetsAModelCallOrAnswerWhereTheAnswerHasAFormat) {
  const std::string asked =
      kTool + R"(,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)"
              R"({"type":"object","properties":{"x":{"const":1}},"required":["x"],)"
              R"("additionalProperties":false}}})";
  say("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 7}}\n</tool_call>");
  start();
  const Json called = choice_of(chat(asked));
  EXPECT_EQ(*called.find("finish_reason"), Json("tool_calls"));
  const Json& call = called.find("message")->find("tool_calls")->as_array("calls").front();
  const std::string arguments = call.find("function")->find("arguments")->as_string("a");
  EXPECT_TRUE(arguments == R"({"a": 1})" || arguments == R"({"a": 2})") << arguments;
  say("{\"x\": 2}");
  const Json answered = choice_of(chat(asked));
  EXPECT_EQ(*answered.find("message")->find("content"), Json("{\"x\": 1}"));
  EXPECT_EQ(*answered.find("finish_reason"), Json("stop"));
}

TEST_F(ToolsTest, HoldsCallsOfStrictToolsToTheirSchema) {
  // A format whose marker is one token.
  served_.reply_format.tools->opens = {"<|im_start|>"};
  served_.reply_format.tools->close = "<|im_end|>";
  served_.reply_format.tools->tokens = {"<|im_start|>", "<|im_end|>"};
  const std::string other = R"(,{"type":"function","function":{"name":"g"}}])";
  const std::string free = kTool.substr(0, kTool.size() - 1) + other;
  std::string strict = free;
  strict.replace(strict.find(R"("name":"f")"), 10, R"("strict":true,"name":"f")");
  start();
  const auto arguments_of = [&](const std::string& tools, const char* said) {
    say(said);
    const Json choice = choice_of(chat(tools));
    EXPECT_EQ(*choice.find("message")->find("content"), Json("ok")) << write_json(choice);
    const Json& call = choice.find("message")->find("tool_calls")->as_array("calls").front();
    return call.find("function")->find("arguments")->as_string("arguments");
  };
  const char* wrong = "ok<|im_start|>\n{\"name\": \"f\", \"arguments\": {\"a\": 7}}\n<|im_end|>";
  EXPECT_EQ(arguments_of(free, wrong), R"({"a": 7})");
  const std::string held = arguments_of(strict, wrong);
  EXPECT_TRUE(held == R"({"a": 1})" || held == R"({"a": 2})") << held;
  EXPECT_EQ(arguments_of(
                strict, "ok<|im_start|>\n{\"name\": \"g\", \"arguments\": {\"b\": 7}}\n<|im_end|>"),
            R"({"b": 7})");
}

TEST_F(ToolsTest, TellsWhereCallsCannotBeToldFromAFormat) {
  served_.reply_format.tools = text::tool_format("arg_key");
  start();
  EXPECT_EQ(chat(kTool + R"(,"response_format":{"type":"json_object"})").code(),
            "unsupported_feature");
}

TEST_F(ToolsTest, EnforcesOneOfSeveralFunctionsInAFormatWithNamesApart) {
  served_.reply_format.tools = text::tool_format("sep_plain");
  const std::string other =
      R"(,{"type":"function","function":{"name":"fg","parameters":{"type":"object",)"
      R"("properties":{"b":{"const":3}},"required":["b"],"additionalProperties":false}}}])";
  const std::string tools = kTool.substr(0, kTool.size() - 1) + other;
  model_.draw = [](const serve::Request& request, std::int64_t, std::int64_t index) {
    return static_cast<std::int32_t>((request.seed + 37 * static_cast<std::uint64_t>(index)) % 320);
  };
  start();
  std::set<std::string> names;
  for (int seed = 0; seed < 320 && names.size() < 2; seed += 20) {
    const Json choice =
        choice_of(chat(tools + R"(,"tool_choice":"required","seed":)" + std::to_string(seed)));
    const Json* calls = choice.find("message")->find("tool_calls");
    ASSERT_NE(calls, nullptr) << write_json(choice);
    const Json& function = *calls->as_array("calls").front().find("function");
    const std::string name = function.find("name")->as_string("name");
    names.insert(name);
    const Json arguments = parse_json(function.find("arguments")->as_string("a"), "arguments");
    EXPECT_NE(arguments.find(name == "f" ? "a" : "b"), nullptr) << write_json(arguments);
  }
  EXPECT_EQ(names.size(), 2U);
}

TEST_F(ToolsTest, ClosesThoughtsAtTheirBudget) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t index) {
    return index < 100 ? 70 : 2;
  };
  start();
  const Json choice = choice_of(
      chat(R"("chat_template_kwargs":{"enable_thinking":true},"thinking_budget":5,"seed":1)"));
  EXPECT_EQ(choice.find("message")->find("reasoning_content")->as_string("r").size(), 5U);
  EXPECT_FALSE(choice.find("message")->find("content")->as_string("c").empty());
}

TEST_F(ToolsTest, BeginsInThoughtsWhereThePromptOpensThem) {
  say("hm</think>ok");
  start();
  const Received reply = chat(R"("chat_template_kwargs":{"enable_thinking":true})");
  EXPECT_EQ(*choice_of(reply).find("message")->find("reasoning_content"), Json("hm"));
  EXPECT_EQ(*choice_of(reply).find("message")->find("content"), Json("ok"));
  EXPECT_GT(reply.json()
                .find("usage")
                ->find("completion_tokens_details")
                ->find("reasoning_tokens")
                ->as_int64("r"),
            0);
}

TEST_F(ToolsTest, HoldsTheAnswerBehindThoughtsToAFormat) {
  model_.draw = [this](const serve::Request&, std::int64_t, std::int64_t index) {
    return index < std::ssize(script_) ? script_[static_cast<std::size_t>(index)] : 70;
  };
  say("hm</think>zzzz");
  start();
  const Json choice =
      choice_of(chat(R"("chat_template_kwargs":{"enable_thinking":true},"choice":["yes","no"])"));
  EXPECT_EQ(*choice.find("message")->find("reasoning_content"), Json("hm"));
  const std::string word = choice.find("message")->find("content")->as_string("content");
  EXPECT_TRUE(word == "yes" || word == "no") << word;
}

TEST_F(ToolsTest, LetsAModelOpenItsThoughtsBeforeAFormat) {
  model_.draw = [this](const serve::Request&, std::int64_t, std::int64_t index) {
    return index < std::ssize(script_) ? script_[static_cast<std::size_t>(index)] : 70;
  };
  say("<think>hm</think>no");
  start();
  const Json thought = choice_of(chat(R"("choice":["yes","no"])"));
  EXPECT_EQ(*thought.find("message")->find("reasoning_content"), Json("hm"));
  EXPECT_EQ(*thought.find("message")->find("content"), Json("no"));
  say("no");
  EXPECT_EQ(*choice_of(chat(R"("choice":["yes","no"])")).find("message")->find("content"),
            Json("no"));
}

TEST_F(ToolsTest, HoldsTheAnswerToAFormatWhereThePromptHasClosedItsThoughts) {
  served_.chat_template.emplace("{{ messages[0].content }}<think>\n\n</think>\n\n");
  model_.draw = [this](const serve::Request&, std::int64_t, std::int64_t index) {
    return index < std::ssize(script_) ? script_[static_cast<std::size_t>(index)] : 70;
  };
  say("<think>hm</think>no");
  start();
  const Json choice = choice_of(chat(R"("choice":["yes","no"])"));
  EXPECT_EQ(choice.find("message")->find("reasoning_content"), nullptr);
  const std::string word = choice.find("message")->find("content")->as_string("content");
  EXPECT_TRUE(word == "yes" || word == "no") << word;
}

TEST_F(ToolsTest, AnswersAnthropicClientsWithBlocks) {
  say(kReply);
  start();
  const std::string body =
      R"({"max_tokens":200,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f",)"
      R"("input_schema":{"type":"object"}}])";
  const Json message = post("/v1/messages", body + "}").json();
  const Json::Array& blocks = message.find("content")->as_array("content");
  ASSERT_EQ(blocks.size(), 3U) << write_json(message);
  EXPECT_EQ(*blocks[0].find("thinking"), Json("hm"));
  EXPECT_EQ(*blocks[1].find("text"), Json("ok"));
  EXPECT_EQ(write_json(*blocks[2].find("input")), R"({"a":1})");
  EXPECT_EQ(*message.find("stop_reason"), Json("tool_use"));
  const std::string stream = post("/v1/messages", body + R"(,"stream":true})").body;
  EXPECT_NE(stream.find("\"type\":\"input_json_delta\""), std::string::npos);
  EXPECT_NE(stream.find("\"type\":\"thinking_delta\""), std::string::npos);
  EXPECT_NE(stream.find("\"type\":\"signature_delta\""), std::string::npos);
}

TEST_F(ToolsTest, AnswersResponsesWithItems) {
  say(kReply);
  start();
  const std::string body =
      R"({"input":"hi","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])";
  const Json response = post("/v1/responses", body + "}").json();
  std::string types;
  for (const Json& item : response.find("output")->as_array("output"))
    types += item.find("type")->as_string("type") + " ";
  EXPECT_EQ(types, "reasoning message function_call ");
  const std::string stream = post("/v1/responses", body + R"(,"stream":true})").body;
  EXPECT_NE(stream.find("event: response.function_call_arguments.done"), std::string::npos);
  EXPECT_NE(stream.find("event: response.reasoning_text.delta"), std::string::npos);
}

TEST_F(ToolsTest, TakesParametersWithDefinitionsWhereACallMustBeMade) {
  model_.draw = [](const serve::Request& request, std::int64_t, std::int64_t index) {
    return static_cast<std::int32_t>((request.seed + 37 * static_cast<std::uint64_t>(index)) % 320);
  };
  start();
  const Json choice = choice_of(chat(
      R"("tool_choice":"required","seed":5,"tools":[{"type":"function","function":{"name":"f",)"
      R"("parameters":{"type":"object","properties":{"a":{"$ref":"#/$defs/one"}},"required":)"
      R"(["a"],"additionalProperties":false,"$defs":{"one":{"enum":[1,2]}}}}},{"type":)"
      R"("function","function":{"name":"g","parameters":{"$ref":"#/definitions/none",)"
      R"("definitions":{"none":{"type":"object","additionalProperties":false}}}}}])"));
  EXPECT_NE(choice.find("message")->find("tool_calls"), nullptr) << write_json(choice);
}

struct BadTool {
  std::string members;
  std::string code;
};

class BadToolTest : public ToolsTest, public testing::WithParamInterface<BadTool> {};

TEST_P(BadToolTest, IsRefused) {
  start();
  const Received reply = chat(GetParam().members);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.code(), GetParam().code) << reply.body;
}

INSTANTIATE_TEST_SUITE_P(
    Tools, BadToolTest,
    testing::Values(
        BadTool{R"("tools":5)", "invalid_value"}, BadTool{R"("tools":[5])", "unsupported_feature"},
        BadTool{R"("tools":[{"type":"web_search"}])", "unsupported_feature"},
        BadTool{R"("tools":[{"type":"function","function":{"name":"a b"}}])", "invalid_value"},
        BadTool{R"("tools":[{"type":"function","function":{"name":"a","parameters":5}}])",
                "invalid_value"},
        BadTool{R"("tools":[{"type":"function","function":{"name":"a"}},)"
                R"({"type":"function","function":{"name":"a"}}])",
                "invalid_value"},
        BadTool{R"("tool_choice":"required")", "invalid_value"},
        BadTool{kTool + R"(,"tool_choice":"perhaps")", "invalid_value"},
        BadTool{kTool + R"(,"tool_choice":5)", "invalid_value"},
        BadTool{kTool + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})",
                "invalid_value"},
        BadTool{kTool + R"(,"tool_choice":"required","regex":"a")", "invalid_value"},
        BadTool{R"("functions":[{"name":"a"}])", "unsupported_feature"},
        BadTool{R"("chat_template_kwargs":{"wonder":1})", "invalid_value"}));

TEST_F(ToolsTest, RefusesToolsThatTheTemplateDoesNotShow) {
  served_ = tiny_model();
  start();
  EXPECT_EQ(chat(kTool).code(), "unsupported_feature");
}

}  // namespace
}  // namespace parhelion::app
