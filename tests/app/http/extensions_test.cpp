#include "app/http/request_log.h"

#include "http_support.h"

namespace parhelion::app {
namespace {

const std::string kAsk = R"("messages":[{"role":"user","content":"hi"}])";

class ExtensionsTest : public HttpTest {
 protected:
  Received chat(const std::string& members) const {
    return post("/v1/chat/completions", "{" + kAsk + "," + members + "}");
  }
  static Json first_choice(const Json& reply) {
    return reply.find("choices")->as_array("choices").front();
  }
  std::string last_prompt() const {
    return served_.tokenizer.decode(engine_->requests().back().prompt);
  }
};

TEST_F(ExtensionsTest, ShowsTheIdsOfPromptAndAnswer) {
  say("abc");
  start();
  const Json reply = chat(R"("return_token_ids":true)").json();
  EXPECT_EQ(std::ssize(reply.find("prompt_token_ids")->as_array("ids")),
            std::ssize(engine_->requests().front().prompt));
  EXPECT_EQ(std::ssize(first_choice(reply).find("token_ids")->as_array("ids")),
            std::ssize(script_));
  const Json plain = chat(R"("seed":1)").json();
  EXPECT_EQ(plain.find("prompt_token_ids"), nullptr);
}

TEST_F(ExtensionsTest, StreamsTheSameIds) {
  say("abc");
  start();
  Json::Array ids;
  std::int64_t prompts = 0;
  for (const std::string& event :
       events_of(chat(R"("return_token_ids":true,"stream":true)").body)) {
    if (event == "[DONE]") continue;
    const Json chunk = parse_json(event, "event");
    if (chunk.find("prompt_token_ids") != nullptr) ++prompts;
    const Json choice = first_choice(chunk);
    for (const Json& id : choice.find("token_ids")->as_array("ids")) ids.push_back(id);
  }
  EXPECT_EQ(prompts, 1);
  EXPECT_EQ(ids.size(), script_.size());
}

TEST_F(ExtensionsTest, ShowsIdsOfCompletions) {
  say("abc");
  start();
  const Json reply =
      post("/v1/completions", R"({"prompt":["x","yz"],"return_token_ids":true})").json();
  EXPECT_EQ(write_json(*reply.find("prompt_token_ids")), "[[90],[91,92]]");
  EXPECT_EQ(first_choice(reply).find("token_ids")->as_array("ids").size(), script_.size());
}

TEST_F(ExtensionsTest, ShowsWhatItSamplesWith) {
  served_.sampling.temperature = {.standard = 0.7, .lowest = 0.6, .highest = 1.0};
  say("abc");
  start();
  const Json sampling =
      *chat(R"("return_effective_sampling":true,"temperature":1.5,"seed":7,"max_tokens":9)")
           .json()
           .find("effective_sampling");
  EXPECT_EQ(*sampling.find("temperature"), Json(1.0));
  EXPECT_EQ(write_json(*sampling.find("clamped")), R"(["temperature"])");
  EXPECT_EQ(*sampling.find("seed"), Json(7));
  EXPECT_EQ(*sampling.find("max_tokens"), Json(9));
  EXPECT_TRUE(has_metric(R"(parhelion_clamped_params_total{param="temperature"} 1)"));
  EXPECT_NE(chat(R"("return_effective_sampling":true,"stream":true)")
                .body.find(R"("effective_sampling":{"temperature":0.7)"),
            std::string::npos);
}

TEST_F(ExtensionsTest, GoesOnWithTheLastMessage) {
  say("abc");
  start();
  const std::string body =
      R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hi there "}],)";
  EXPECT_EQ(post("/v1/chat/completions", body + R"("continue_final_message":true})").status, 200);
  EXPECT_TRUE(last_prompt().ends_with("<|im_start|>assistant\nhi there ")) << last_prompt();
  const Received both =
      post("/v1/chat/completions",
           body + R"("continue_final_message":true,"add_generation_prompt":true})");
  EXPECT_EQ(both.code(), "invalid_value");
}

TEST_F(ExtensionsTest, SaysWhereTheTemplateDoesNotShowTheLastMessage) {
  served_.chat_template.emplace("{{ messages[0].content }}");
  start();
  const Received reply =
      post("/v1/chat/completions",
           R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}],)"
           R"("continue_final_message":true})");
  EXPECT_EQ(reply.code(), "invalid_messages");
}

TEST_F(ExtensionsTest, TellsTemplatesTheDate) {
  served_.chat_template.emplace("{{ strftime_now('%Y') }} {{ messages[0].content }}");
  say("a");
  start();
  EXPECT_EQ(chat(R"("max_tokens":1)").status, 200);
  EXPECT_TRUE(last_prompt().starts_with("20")) << last_prompt();
}

TEST_F(ExtensionsTest, KeepsTheEndOfAPromptWhereItIsAskedTo) {
  say("abc");
  start();
  const Received reply =
      post("/v1/completions", R"({"prompt":"wxyz","truncate_prompt_tokens":2,"echo":true})");
  EXPECT_EQ(last_prompt(), "yz");
  EXPECT_EQ(*first_choice(reply.json()).find("text"), Json("yzabc"));
  chat(R"("truncate_prompt_tokens":3)");
  EXPECT_EQ(engine_->requests().back().prompt.size(), 3U);
  EXPECT_EQ(chat(R"("truncate_prompt_tokens":0)").code(), "invalid_value");
}

TEST_F(ExtensionsTest, RefusesLogProbabilitiesThatItDoesNotKnow) {
  say("abc");
  start();
  EXPECT_EQ(chat(R"("logprobs_mode":"raw")").status, 200);
  EXPECT_EQ(chat(R"("logprobs_mode":"processed")").code(), "unsupported_feature");
  EXPECT_EQ(chat(R"("logprobs_mode":"x")").code(), "invalid_value");
}

TEST_F(ExtensionsTest, NeverWritesABadWord) {
  say("abcabd");
  model_.draw = [this](const serve::Request&, std::int64_t, std::int64_t index) {
    return index < std::ssize(script_) ? script_[static_cast<std::size_t>(index)] : 2;
  };
  start();
  const Json reply = post("/v1/completions", R"({"prompt":"x","bad_words":["abc","z"]})").json();
  const std::string text = first_choice(reply).find("text")->as_string("text");
  EXPECT_EQ(text.find("abc"), std::string::npos) << text;
  EXPECT_EQ(engine_->requests().front().bad_ids, served_.tokenizer.encode("z"));
  EXPECT_NE(text.find("abd"), std::string::npos) << text;
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","bad_words":[""]})").code(), "invalid_value");
}

/// Members of the line of the log that tells of an event.
class LogTest : public ExtensionsTest {
 protected:
  Json line_of(const std::string& event) {
    Json found;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(log_mutex_);
      for (const std::string& line : log_) {
        Json json = parse_json(line, "log");
        if (*json.find("event") == Json(event)) found = std::move(json);
      }
      return found.is_object();
    }));
    return found;
  }
};

TEST_F(LogTest, TellsOfARequestWhenItIsTakenAndWhenItIsAnswered) {
  say("abc");
  start();
  request(post_text("/v1/completions", R"({"prompt":"secret","seed":3})",
                    "x-request-id: mine\r\ntraceparent: "
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"));
  const Json accepted = line_of("accepted");
  EXPECT_EQ(*accepted.find("request_id"), Json("mine"));
  EXPECT_EQ(*accepted.find("trace_id"), Json("0af7651916cd43dd8448eb211c80319c"));
  EXPECT_EQ(*accepted.find("sampling")->find("seed"), Json(3));
  EXPECT_EQ(accepted.find("prompt"), nullptr);
  const Json generated = line_of("generated");
  EXPECT_EQ(*generated.find("completion_tokens"), Json(std::ssize(script_) + 1));
  EXPECT_EQ(generated.find("content"), nullptr);
  EXPECT_EQ(*line_of("finished").find("status"), Json(200));
}

TEST_F(LogTest, HasContentWhereTheOperatorAsksForIt) {
  options_.logs_content = true;
  say("abc");
  start();
  post("/v1/completions", R"({"prompt":"secret"})");
  EXPECT_EQ(*line_of("accepted").find("prompt"), Json("secret"));
  EXPECT_EQ(*line_of("generated").find("content"), Json("abc"));
}

TEST_F(LogTest, HidesBytesOfPathsThatAreNoText) {
  start();
  get("/a%ffb%0ac");
  EXPECT_EQ(*line_of("finished").find("path"), Json("/a?b?c"));
}

TEST(RequestLog, WritesTextWhereItIsAskedTo) {
  std::string written;
  ApiOptions options;
  options.log = [&written](std::string_view line) { written = line; };
  options.log_format = LogFormat::text;
  HttpRequest request;
  request.id = "r1";
  log_request(options, "finished", request, {{"path", "/a b"}, {"status", 200}});
  EXPECT_NE(written.find(R"( event=finished request_id=r1 key="" path="/a b" status=200)"),
            std::string::npos)
      << written;
}

TEST(RequestLog, TakesTheTraceOfAWellFormedField) {
  EXPECT_EQ(trace_id_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            "0af7651916cd43dd8448eb211c80319c");
  for (const char* bad : {"", "00", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                          "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    EXPECT_EQ(trace_id_of(bad), "") << bad;
}

}  // namespace
}  // namespace parhelion::app
