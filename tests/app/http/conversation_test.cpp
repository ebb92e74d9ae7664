// What conversations become on the way to the template.
#include "app/http/tools_support.h"

#include <utility>

namespace parhelion::app {
namespace {

class ConversationTest : public ToolsTest {};

constexpr const char* kTextAndCall =
    R"([{"role":"user","content":"hi"},{"role":"assistant","content":"let me see","tool_calls":)"
    R"([{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},)"
    R"({"role":"tool","tool_call_id":"c","content":"r"}])";

TEST_F(ConversationTest, LosesNoCallWhereATemplateWritesCallsOfBareMessagesOnly) {
  served_.chat_template.emplace(read_file(std::string(PARHELION_TEST_DATA) +
                                          "/text/templates/models/"
                                          "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja"));
  start();
  const Received reply =
      post("/apply-template", std::string(R"({"messages":)") + kTextAndCall + "}");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::string prompt = reply.json().find("prompt")->as_string("prompt");
  for (const char* part : {"let me see", "\n```json\n{\"a\":1}\n```", "\uff5c>r"})
    EXPECT_NE(prompt.find(part), std::string::npos) << part << " in " << prompt;
}

TEST_F(ConversationTest, AppliesTheTemplateToToolsToo) {
  start();
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],)" + kTool + "}";
  EXPECT_EQ(*post("/apply-template", body).json().find("prompt"), Json("f user: hi"));
  EXPECT_EQ(*post("/tokenize", body).json().find("count"),
            Json(std::ssize(served_.tokenizer.encode("f user: hi"))));
}

TEST_F(ConversationTest, ShowsEarlierThoughtsOfResponsesToTheTemplate) {
  served_.chat_template.emplace(
      "{% for m in messages %}{{ m.role }}({{ m.reasoning_content }}): {{ m.content }}\n"
      "{% endfor %}");
  start();
  post(
      "/v1/responses",
      R"({"max_output_tokens":1,"input":[{"role":"user","content":"q"},{"type":"reasoning",)"
      R"("content":[{"type":"reasoning_text","text":"hm"}]},{"role":"assistant","content":"a"},)"
      R"({"type":"reasoning","summary":[],"encrypted_content":"x"},{"role":"user","content":"p"}]})");
  EXPECT_EQ(served_.tokenizer.decode(engine_->requests().front().prompt),
            "user(): q\nassistant(hm): a\nuser(): p\n");
}

TEST_F(ConversationTest, TakesTheEffortOfResponses) {
  start();
  for (const auto& [effort, thinks] : {std::pair{"high", true}, {"minimal", false}}) {
    post("/v1/responses",
         fmt::format(R"({{"max_output_tokens":1,"input":"hi","reasoning":{{"effort":"{}"}}}})",
                     effort));
    const auto ids = engine_->requests().back().prompt;
    EXPECT_EQ(served_.tokenizer.decode(ids).ends_with("<think>"), thinks) << effort;
  }
  EXPECT_EQ(post("/v1/responses", R"({"input":"hi","reasoning":{"effort":3}})").code(),
            "invalid_value");
}

TEST_F(ConversationTest, HoldsResponsesToAChoice) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  start();
  const std::string body = R"({"input":"hi","choice":["yes","no"])";
  const Json response = post("/v1/responses", body + "}").json();
  const Json& item = response.find("output")->as_array("output").front();
  const std::string word =
      item.find("content")->as_array("content").front().find("text")->as_string("text");
  EXPECT_TRUE(word == "yes" || word == "no") << word;
  EXPECT_EQ(post("/v1/responses", body + R"(,"text":{"format":{"type":"json_object"}}})").code(),
            "invalid_value");
  EXPECT_EQ(
      post("/v1/responses", R"({"input":"hi","include":["message.output_text.logprobs"]})").code(),
      "unsupported_feature");
}

TEST_F(ConversationTest, TakesResultsOfToolsFromAllProtocols) {
  start();
  post("/v1/chat/completions",
       R"({"max_tokens":1,"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c",)"
       R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
       R"({"role":"tool","tool_call_id":"c","content":"r"}]})");
  post("/v1/messages",
       R"({"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c",)"
       R"("name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result",)"
       R"("tool_use_id":"c","content":"r"}]}]})");
  post("/v1/responses",
       R"({"max_output_tokens":1,"input":[{"type":"function_call","call_id":"c","name":"f",)"
       R"("arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c","output":"r"}]})");
  const std::vector<serve::Request> requests = engine_->requests();
  ASSERT_EQ(requests.size(), 3U);
  for (const serve::Request& request : requests)
    EXPECT_EQ(served_.tokenizer.decode(request.prompt), "assistant: f(1)tool: r");
}

}  // namespace
}  // namespace parhelion::app
