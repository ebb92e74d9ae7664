#include "http_support.h"
#include <map>

namespace parhelion::app {
namespace {

/// The type and the data of each event.
std::vector<std::pair<std::string, Json>> typed_events(const std::string& body) {
  std::vector<std::pair<std::string, Json>> events;
  for (std::size_t at = 0; (at = body.find("event: ", at)) != std::string::npos;) {
    const std::size_t line = body.find('\n', at);
    const std::size_t end = body.find("\n\n", at);
    events.emplace_back(body.substr(at + 7, line - at - 7),
                        parse_json(body.substr(line + 7, end - line - 7), "event"));
    at = end;
  }
  return events;
}

std::string types_of(const std::string& body) {
  std::string types;
  for (const auto& [type, data] : typed_events(body)) {
    EXPECT_EQ(*data.find("type"), Json(type));
    types += type + "\n";
  }
  return types;
}

class MessagesTest : public HttpTest {
 protected:
  Received ask(const std::string& more) const {
    return post("/v1/messages",
                R"({"model":"tiny","messages":[{"role":"user","content":"hi"}],)" + more + "}");
  }
};

TEST_F(MessagesTest, AnswersInWhole) {
  say("abc");
  start();
  const Json message = ask(R"("max_tokens":50,"system":"be kind")").json();
  EXPECT_EQ(*message.find("type"), Json("message"));
  EXPECT_EQ(write_json(*message.find("content")), R"([{"type":"text","text":"abc"}])");
  EXPECT_EQ(*message.find("stop_reason"), Json("end_turn"));
  EXPECT_TRUE(message.find("stop_sequence")->is_null());
  EXPECT_EQ(*message.find("usage")->find("output_tokens"), Json(4));
}

TEST_F(MessagesTest, StreamsTypedEvents) {
  say("ab");
  start();
  const Received reply = ask(R"("max_tokens":50,"stream":true)");
  EXPECT_EQ(types_of(reply.body),
            "message_start\nping\ncontent_block_start\ncontent_block_delta\ncontent_block_delta\n"
            "content_block_stop\nmessage_delta\nmessage_stop\n");
  std::string text;
  for (const auto& [type, data] : typed_events(reply.body)) {
    if (type == "content_block_delta") text += data.find("delta")->find("text")->as_string("text");
  }
  EXPECT_EQ(text, "ab");
}

TEST_F(MessagesTest, TellsWhichStopSequenceEndedIt) {
  say("abSTOPc");
  start();
  const Json whole = ask(R"("max_tokens":50,"stop_sequences":["X","STOP"])").json();
  EXPECT_EQ(*whole.find("stop_reason"), Json("stop_sequence"));
  EXPECT_EQ(*whole.find("stop_sequence"), Json("STOP"));
  const auto events =
      typed_events(ask(R"("max_tokens":50,"stream":true,"stop_sequences":["X","STOP"])").body);
  EXPECT_EQ(*events[events.size() - 2].second.find("delta")->find("stop_sequence"), Json("STOP"));
  EXPECT_EQ(*ask(R"("max_tokens":2)").json().find("stop_reason"), Json("max_tokens"));
}

TEST_F(MessagesTest, SpeaksItsOwnErrors) {
  options_.keys = Keys("0123456789abcdef");
  start();
  const Json error = ask(R"("max_tokens":5)").json();
  EXPECT_EQ(*error.find("type"), Json("error"));
  EXPECT_EQ(*error.find("error")->find("type"), Json("authentication_error"));
  EXPECT_NE(error.find("request_id"), nullptr);
}

TEST_F(MessagesTest, NamesItsRequestAsItsClientsReadIt) {
  say("a");
  start();
  for (const char* body :
       {R"({"model":"tiny","max_tokens":2,"messages":[{"role":"user","content":"a"}]})", "{}"}) {
    const Received reply = post("/v1/messages", body);
    EXPECT_FALSE(reply.field("request-id").empty());
    EXPECT_EQ(reply.field("request-id"), reply.field("x-request-id"));
  }
}

TEST_F(MessagesTest, NeedsALength) {
  start();
  EXPECT_EQ(ask(R"("stream":false)").status, 400);
}

TEST_F(MessagesTest, CountsTokensAsItWouldUseThem) {
  say("a");
  start();
  const std::string body =
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}])";
  const Json counted = post("/v1/messages/count_tokens", body + "}").json();
  const Json used = post("/v1/messages", body + R"(,"max_tokens":5})").json();
  EXPECT_EQ(*counted.find("input_tokens"), *used.find("usage")->find("input_tokens"));
}

struct BadMessage {
  std::string message;
  std::string fragment;  // of the error's text
};

class BadMessageTest : public HttpTest, public testing::WithParamInterface<BadMessage> {};

TEST_P(BadMessageTest, IsRefused) {
  start();
  const Received reply =
      post("/v1/messages", R"({"max_tokens":5,"messages":[)" + GetParam().message + "]}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find(GetParam().fragment), std::string::npos) << reply.body;
}

INSTANTIATE_TEST_SUITE_P(
    Messages, BadMessageTest,
    testing::Values(BadMessage{"", "at least one"}, BadMessage{"5", "expected object"},
                    BadMessage{R"({"content":"x"})", "no role"},
                    BadMessage{R"({"role":"system","content":"x"})", "neither user nor assistant"},
                    BadMessage{R"({"role":"user"})", "no content"},
                    BadMessage{R"({"role":"user","content":5})", "neither a string nor a list"},
                    BadMessage{R"({"role":"user","content":[{"type":"image"}]})", "image"},
                    BadMessage{R"({"role":"user","content":[{"type":"text"}]})", "no text"},
                    BadMessage{R"({"role":"user","content":[5]})", "no type"}));

class ResponsesTest : public HttpTest {
 protected:
  Received ask(const std::string& members) const {
    return post("/v1/responses", "{\"model\":\"tiny\"," + members + "}");
  }
};

TEST_F(ResponsesTest, AnswersInWhole) {
  say("abc");
  start();
  const Json response = ask(R"("input":"hi","instructions":"be kind")").json();
  EXPECT_EQ(*response.find("status"), Json("completed"));
  const Json& item = response.find("output")->as_array("output").front();
  EXPECT_EQ(*item.find("type"), Json("message"));
  EXPECT_EQ(*item.find("content")->as_array("content").front().find("text"), Json("abc"));
  EXPECT_EQ(*response.find("usage")->find("output_tokens"), Json(4));
  EXPECT_EQ(*response.find("instructions"), Json("be kind"));
}

TEST_F(ResponsesTest, StreamsTypedEventsWithRisingNumbers) {
  say("ab");
  start();
  const Received reply = ask(R"("input":"hi","stream":true)");
  EXPECT_EQ(types_of(reply.body),
            "response.created\nresponse.in_progress\nresponse.output_item.added\n"
            "response.content_part.added\nresponse.output_text.delta\nresponse.output_text.delta\n"
            "response.output_text.done\nresponse.content_part.done\nresponse.output_item.done\n"
            "response.completed\n");
  std::int64_t number = 0;
  for (const auto& [type, data] : typed_events(reply.body))
    EXPECT_EQ(*data.find("sequence_number"), Json(number++));
}

TEST_F(ResponsesTest, EndsAStreamWithWhatTheWholeAnswerSays) {
  say("ab");
  start();
  const Json whole = ask(R"("input":"hi")").json();
  const auto events = typed_events(ask(R"("input":"hi","stream":true)").body);
  const Json& last = *events.back().second.find("response");
  const auto content = [](const Json& response) {
    return *response.find("output")->as_array("output").front().find("content");
  };
  EXPECT_EQ(content(last), content(whole));
  EXPECT_EQ(*last.find("usage"), *whole.find("usage"));
}

TEST_F(ResponsesTest, TellsThatItWasCut) {
  say("abcdef");
  start();
  const Json response = ask(R"("input":"hi","max_output_tokens":2)").json();
  EXPECT_EQ(*response.find("status"), Json("incomplete"));
  EXPECT_EQ(*response.find("incomplete_details")->find("reason"), Json("max_output_tokens"));
}

TEST_F(ResponsesTest, TellsInAStreamWhichItemWasCut) {
  say("abcdef");
  start();
  const Received reply = ask(R"("input":"hi","max_output_tokens":2,"stream":true)");
  int ends = 0;
  for (const auto& [type, data] : typed_events(reply.body)) {
    if (type != "response.output_item.done") continue;
    ++ends;
    EXPECT_EQ(*data.find("item")->find("status"), Json("incomplete"));
  }
  EXPECT_EQ(ends, 1);
}

TEST_F(ResponsesTest, TakesConversationsOfItems) {
  say("a");
  start();
  ask(R"("input":[{"role":"developer","content":"s"},)"
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]},)"
      R"({"type":"reasoning","summary":[]},)"
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"v"}]},)"
      R"({"role":"user","content":"w"}])");
  const std::string prompt = tiny_model().tokenizer.decode(engine_->requests().front().prompt);
  EXPECT_EQ(prompt,
            "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\nv<|im_end|>\n<|im_start|>user\nw<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST_F(ResponsesTest, RefusesWhatItLacksByName) {
  start();
  EXPECT_EQ(ask(R"("input":"x","previous_response_id":"resp_1")").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":"x","store":true)").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":"x","truncation":"auto")").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":[{"type":"web_search_call"}])").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":[])").code(), "invalid_messages");
  EXPECT_EQ(ask(R"("input":[{"role":"user","content":[{"type":"input_image"}]}])").code(),
            "unsupported_content");
}

TEST_F(ResponsesTest, EndsWithAFailureWhereTheServerStops) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(20);
  start();
  RawClient client(server_->port());
  client.send(post_text("/v1/responses", R"({"input":"x","stream":true})"));
  client.read_through("in_progress");
  api_->cancel_all();
  EXPECT_NE(client.read_through("0\r\n\r\n").find("event: response.failed"), std::string::npos);
}

}  // namespace
}  // namespace parhelion::app
