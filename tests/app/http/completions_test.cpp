#include "http_support.h"

namespace parhelion::app {
namespace {

constexpr const char* kChat = R"("messages":[{"role":"user","content":"hi"}])";

class CompletionsTest : public HttpTest {
 protected:
  Received chat(const std::string& more) const {
    return post("/v1/chat/completions", std::string("{") + kChat + more + "}");
  }
  Received complete(const std::string& members) const {
    return post("/v1/completions", "{" + members + "}");
  }
};

/// Choices of a chat stream put together by what its chunks say.
struct Reduced {
  std::string content;
  Json::Array logs;
  std::string finish;
  int ends = 0;
};

std::vector<Reduced> reduce_chat(const std::string& body, std::size_t choices) {
  std::vector<Reduced> reduced(choices);
  for (const std::string& event : events_of(body)) {
    if (event == "[DONE]") continue;
    const Json chunk = parse_json(event, "event");
    for (const Json& choice : chunk.find("choices")->as_array("choices")) {
      Reduced& each = reduced[static_cast<std::size_t>(choice.find("index")->as_int64("index"))];
      const Json* content = choice.find("delta")->find("content");
      if (content != nullptr) each.content += content->as_string("content");
      if (const Json* logs = choice.find("logprobs"); !logs->is_null())
        for (const Json& log : logs->find("content")->as_array("content")) each.logs.push_back(log);
      if (const Json* finish = choice.find("finish_reason"); !finish->is_null()) {
        each.finish = finish->as_string("finish_reason");
        ++each.ends;
      }
    }
  }
  return reduced;
}

std::string without_ids(const std::string& body) {
  std::string out;
  for (std::string event : events_of(body)) {
    for (const char* key : {"\"id\":\"", "\"created\":"}) {
      const std::size_t at = event.find(key);
      if (at == std::string::npos) continue;
      event.erase(at, event.find(',', at) + 1 - at);
    }
    out += event + "\n";
  }
  return out;
}

TEST_F(CompletionsTest, StreamsAChat) {
  say("abc");
  start();
  const Received reply = chat(R"(,"stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("content-type"), "text/event-stream; charset=utf-8");
  const std::string frame =
      R"({"object":"chat.completion.chunk","model":"tiny","system_fingerprint":"fp_test","choices":[)";
  const auto chunk = [&](const std::string& delta, const std::string& finish) {
    return frame + R"({"index":0,"delta":)" + delta + R"(,"logprobs":null,"finish_reason":)" +
           finish + R"(}],"usage":null})" + "\n";
  };
  EXPECT_EQ(without_ids(reply.body),
            chunk(R"({"role":"assistant","content":""})", "null") +
                chunk(R"({"content":"a"})", "null") + chunk(R"({"content":"b"})", "null") +
                chunk(R"({"content":"c"})", "null") + chunk("{}", "\"stop\"") + frame +
                R"(],"usage":{"prompt_tokens":20,"completion_tokens":4,"total_tokens":24,)"
                R"("prompt_tokens_details":{"cached_tokens":0},)"
                R"("completion_tokens_details":{"reasoning_tokens":0}}})"
                "\n[DONE]\n");
}

TEST_F(CompletionsTest, StreamsACompletion) {
  say("ab");
  start();
  const Received reply = complete(R"("prompt":"x","stream":true)");
  const std::string frame =
      R"({"object":"text_completion","model":"tiny","system_fingerprint":"fp_test","choices":[)";
  EXPECT_EQ(without_ids(reply.body),
            frame +
                R"({"text":"a","index":0,"logprobs":null,"finish_reason":null}]})"
                "\n" +
                frame +
                R"({"text":"b","index":0,"logprobs":null,"finish_reason":null}]})"
                "\n" +
                frame +
                R"({"text":"","index":0,"logprobs":null,"finish_reason":"stop"}]})"
                "\n[DONE]\n");
}

TEST_F(CompletionsTest, HasTheSameIdInAllChunks) {
  say("abc");
  start();
  const std::vector<std::string> events = events_of(chat(R"(,"stream":true)").body);
  const Json id = *parse_json(events.front(), "event").find("id");
  for (std::size_t i = 0; i + 1 < events.size(); ++i)
    EXPECT_EQ(*parse_json(events[i], "event").find("id"), id);
}

class StreamTest : public CompletionsTest, public testing::WithParamInterface<std::string> {};

TEST_P(StreamTest, SaysWhatTheWholeAnswerSays) {
  model_.draw = [](const serve::Request&, std::int64_t sequence, std::int64_t index) {
    return index == 40 + sequence ? 2
                                  : static_cast<std::int32_t>(60 + (index * 37 + sequence) % 250);
  };
  start();
  const Json whole = chat(GetParam()).json();
  const Json::Array& choices = whole.find("choices")->as_array("choices");
  const auto reduced = reduce_chat(chat(GetParam() + R"(,"stream":true)").body, choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Json& choice = choices[i];
    EXPECT_EQ(*choice.find("message")->find("content"), Json(reduced[i].content));
    EXPECT_EQ(*choice.find("finish_reason"), Json(reduced[i].finish));
    EXPECT_EQ(reduced[i].ends, 1);
    if (const Json* logs = choice.find("logprobs"); !logs->is_null()) {
      EXPECT_EQ(*logs->find("content"), Json(reduced[i].logs));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, StreamTest,
                         testing::Values("", R"(,"n":3)", R"(,"max_tokens":5)",
                                         R"(,"logprobs":true,"top_logprobs":3)",
                                         R"(,"n":2,"logprobs":true,"max_tokens":17)",
                                         R"(,"ignore_eos":true,"max_tokens":60)"));

TEST_F(CompletionsTest, JoinsWhatASlowReaderMissed) {
  script_.assign(300, 70);
  start();
  engine_->pause();
  RawClient client(server_->port());
  client.send(post_text("/v1/chat/completions",
                        std::string("{") + kChat + R"(,"stream":true,"max_tokens":400})"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  engine_->resume();
  const Received rest{.status = 200, .head = {}, .body = client.read_through("[DONE]\n\n")};
  std::size_t length = 0;
  for (std::size_t at = 0; (at = rest.body.find("\"content\":\"", at)) != std::string::npos;) {
    at += 11;
    length += rest.body.find('"', at) - at;
  }
  EXPECT_EQ(length, 300U);
}

TEST_F(CompletionsTest, PassesOnWhatIsAsked) {
  start();
  complete(R"("prompt":"x","temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,"seed":7,)"
           R"("repetition_penalty":1.1,"presence_penalty":1,"frequency_penalty":-1,"min_tokens":1,)"
           R"("stop_token_ids":[9],"logit_bias":{"5":-100},"allowed_token_ids":[5,9],)"
           R"("bad_words":["a"],"priority":2,"cache_salt":"s","n":2)");
  const serve::Request request = engine_->requests().front();
  EXPECT_EQ(request.temperature, 0.5);
  EXPECT_EQ(request.top_p, 0.9);
  EXPECT_EQ(request.top_k, 0.0);
  EXPECT_EQ(request.min_p, 0.1);
  EXPECT_EQ(request.seed, 7U);
  EXPECT_EQ(request.repetition_penalty, 1.1);
  EXPECT_EQ(request.presence_penalty, 1.0);
  EXPECT_EQ(request.frequency_penalty, -1.0);
  EXPECT_EQ(request.min_tokens, 1);
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.stop_ids, std::vector<std::int32_t>{9});
  EXPECT_EQ(request.logit_bias, (std::vector<std::pair<std::int32_t, float>>{{5, -100.0f}}));
  EXPECT_EQ(request.allowed_ids, (std::vector<std::int32_t>{5, 9}));
  EXPECT_EQ(request.bad_ids.front(), 67);
  EXPECT_EQ(request.priority, 2);
  EXPECT_NE(request.cache_salt, 0U);
  EXPECT_EQ(request.sequences, 2);
}

TEST_F(CompletionsTest, TakesSeedsOf64Bits) {
  start();
  complete(R"("prompt":"x","seed":18446744073709551615)");
  complete(R"("prompt":"x","seed":-1)");
  EXPECT_EQ(engine_->requests().front().seed, UINT64_MAX);
  EXPECT_EQ(engine_->requests().back().seed, UINT64_MAX);
}

TEST_F(CompletionsTest, TakesPromptsOfIdsAndText) {
  model_.draw = [](const serve::Request& request, std::int64_t sequence, std::int64_t index) {
    return index == 1 ? 2 : request.prompt.front() + static_cast<std::int32_t>(sequence);
  };
  start();
  const Json texts = complete(R"("prompt":["a","e"],"n":2)").json();
  std::string joined;
  for (const Json& choice : texts.find("choices")->as_array("choices"))
    joined += choice.find("text")->as_string("text");
  EXPECT_EQ(joined, "abef");
  const Json ids = complete(R"("prompt":[[67],[71]])").json();
  EXPECT_EQ(ids.find("choices")->as_array("choices").size(), 2U);
  EXPECT_EQ(complete(R"("prompt":["a",[70]])").status, 400);
  EXPECT_EQ(complete(R"("prompt":[])").status, 400);
  EXPECT_EQ(complete(R"("prompt":"")").status, 400);
}

TEST_F(CompletionsTest, ShowsTheLikeliestOfSeveral) {
  model_.draw = [](const serve::Request&, std::int64_t sequence, std::int64_t index) {
    return index == 1 ? 2 : 67 + static_cast<std::int32_t>(sequence);
  };
  start();
  const Json whole = complete(R"("prompt":"x","n":2,"best_of":4)").json();
  const Json::Array& choices = whole.find("choices")->as_array("choices");
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(*choices[0].find("text"), Json("a"));  // the null server makes later ones less likely
  EXPECT_TRUE(choices[0].find("logprobs")->is_null());
  EXPECT_EQ(whole.find("usage")->find("completion_tokens")->as_int64("usage"), 8);
  EXPECT_EQ(complete(R"("prompt":"x","n":2,"best_of":4,"stream":true)").status, 400);
  EXPECT_EQ(complete(R"("prompt":"x","n":2,"best_of":1)").status, 400);
}

TEST_F(CompletionsTest, EchoesThePrompt) {
  say("bc");
  start();
  const Json whole = complete(R"("prompt":"xa","echo":true)").json();
  EXPECT_EQ(*whole.find("choices")->as_array("choices").front().find("text"), Json("xabc"));
  const std::string stream = complete(R"("prompt":"xa","echo":true,"stream":true)").body;
  EXPECT_NE(events_of(stream).front().find(R"("text":"xa")"), std::string::npos);
}

TEST_F(CompletionsTest, GivesLogProbabilitiesOfACompletion) {
  say("ab");
  start();
  const Json whole = complete(R"("prompt":"x","logprobs":2)").json();
  const Json& logs = *whole.find("choices")->as_array("choices").front().find("logprobs");
  EXPECT_EQ(write_json(logs),
            R"({"tokens":["a","b"],"token_logprobs":[-0.25,-0.25],)"
            R"("top_logprobs":[{"a":-0.25,"b":-1.25},{"b":-0.25,"c":-1.25}],"text_offset":[0,1]})");
}

TEST_F(CompletionsTest, GivesTheBytesOfEachToken) {
  say("\xC3\xA9");  // two tokens, one character
  start();
  const Json whole = chat(R"(,"logprobs":true)").json();
  const Json& choice = whole.find("choices")->as_array("choices").front();
  EXPECT_EQ(*choice.find("message")->find("content"), Json("\xC3\xA9"));
  const Json::Array& logs = choice.find("logprobs")->find("content")->as_array("content");
  ASSERT_EQ(logs.size(), script_.size());
  EXPECT_EQ(logs.size(), 2U);
  EXPECT_EQ(write_json(*logs[0].find("bytes")), "[195]");
  EXPECT_EQ(write_json(*logs[1].find("bytes")), "[169]");
}

TEST_F(CompletionsTest, NeverSplitsACharacter) {
  say("\xF0\x9F\x98\x80");
  start();
  for (const std::string& event : events_of(chat(R"(,"stream":true)").body))
    EXPECT_EQ(event.find("\xEF\xBF\xBD"), std::string::npos);
}

TEST_F(CompletionsTest, EndsAnIncompleteCharacterWithOneReplacement) {
  say("\xF0\x9F\x98\x80");
  script_.resize(2);
  start();
  const Json whole = chat("").json();
  EXPECT_EQ(*whole.find("choices")->as_array("choices").front().find("message")->find("content"),
            Json("\xEF\xBF\xBD"));
}

}  // namespace
}  // namespace parhelion::app
