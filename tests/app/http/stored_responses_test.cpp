#include "http_support.h"

namespace parhelion::app {
namespace {

class StoredResponsesTest : public HttpTest {
 protected:
  void SetUp() override { options_.stored.responses = 4; }

  Received ask(const std::string& members, const std::string& fields = {}) const {
    return request(post_text("/v1/responses", "{\"model\":\"tiny\"," + members + "}", fields));
  }
  Received call(const std::string& method, const std::string& path,
                const std::string& fields = {}) const {
    return request(method + " /v1/responses/" + path + " HTTP/1.1\r\nhost: x\r\n" + fields +
                   "\r\n");
  }
  static std::string id_of(const Received& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Json body = reply.json();
    const Json* id = body.find("id");
    return id == nullptr ? "none" : id->as_string("id");
  }
  std::string status_of(const std::string& id) const {
    const Received reply = call("GET", id);
    return reply.status == 200 ? reply.json().find("status")->as_string("status") : reply.code();
  }
  std::string last_prompt() const {
    return tiny_model().tokenizer.decode(engine_->requests().back().prompt);
  }
};

TEST_F(StoredResponsesTest, KeepsOnlyWhatIsAskedFor) {
  say("abc");
  start();
  EXPECT_EQ(status_of(id_of(ask(R"("input":"hi")"))), "response_not_found");
  const Received kept = ask(R"("input":"hi","store":true)");
  EXPECT_EQ(*kept.json().find("store"), Json(true));
  EXPECT_EQ(call("GET", id_of(kept)).body, kept.body);
}

TEST_F(StoredResponsesTest, KeepsAStreamAsItsLastEventTells) {
  say("abc");
  start();
  const auto events = events_of(ask(R"("input":"hi","store":true,"stream":true)").body);
  const Json last = parse_json(events.back(), "event");
  const Json& response = *last.find("response");
  const Received got = call("GET", response.find("id")->as_string("id"));
  EXPECT_EQ(got.body, write_json(response));
}

TEST_F(StoredResponsesTest, HasNothingWhereItIsOff) {
  options_.stored.responses = 0;
  start();
  EXPECT_EQ(call("GET", "resp_1").code(), "response_not_found");
  EXPECT_EQ(call("DELETE", "resp_1").status, 404);
  EXPECT_EQ(call("POST", "resp_1/cancel").status, 404);
  EXPECT_EQ(ask(R"("input":"hi","store":true)").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":"hi","background":true)").code(), "unsupported_feature");
}

TEST_F(StoredResponsesTest, GoesOnFromAnEarlierResponseWithoutItsInstructions) {
  say("abc");
  start();
  const std::string first = id_of(ask(R"("input":"hi","instructions":"be kind","store":true)"));
  const std::string second = id_of(
      ask(R"("input":[{"role":"user","content":"go on"}],"store":true,"previous_response_id":")" +
          first + "\""));
  const Received third =
      ask(R"("input":"more","instructions":"be brief","previous_response_id":")" + second + "\"");
  EXPECT_EQ(*third.json().find("previous_response_id"), Json(second));
  EXPECT_EQ(last_prompt(),
            "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
            "<|im_start|>assistant\nabc<|im_end|>\n<|im_start|>user\ngo on<|im_end|>\n"
            "<|im_start|>assistant\nabc<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST_F(StoredResponsesTest, GoesOnFromAResponseWhosePredecessorIsGone) {
  say("abc");
  start();
  const std::string first = id_of(ask(R"("input":"hi","store":true)"));
  const std::string second =
      id_of(ask(R"("input":"on","store":true,"previous_response_id":")" + first + "\""));
  EXPECT_EQ(call("DELETE", first).status, 200);
  id_of(ask(R"("input":"x","previous_response_id":")" + second + "\""));
  EXPECT_NE(last_prompt().find("user\nhi<"), std::string::npos);
}

TEST_F(StoredResponsesTest, ListsTheItemsOfTheConversationInPages) {
  say("abc");
  start();
  const std::string first = id_of(ask(R"("input":"hi","store":true)"));
  const std::string second =
      id_of(ask(R"("input":[{"type":"function_call_output","call_id":"c","output":"o"},)"
                R"({"role":"user","content":"on"}],"store":true,"previous_response_id":")" +
                first + "\""));
  const Json all = call("GET", second + "/input_items?order=asc").json();
  const Json::Array& items = all.find("data")->as_array("data");
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(write_json(*items[0].find("content")), R"([{"type":"input_text","text":"hi"}])");
  EXPECT_EQ(*items[1].find("role"), Json("assistant"));
  EXPECT_EQ(*items[2].find("type"), Json("function_call_output"));
  EXPECT_EQ(*all.find("has_more"), Json(false));

  const Json page = call("GET", second + "/input_items?limit=3").json();
  EXPECT_EQ(*page.find("first_id"), *items[3].find("id"));
  EXPECT_EQ(*page.find("has_more"), Json(true));
  const Json rest =
      call("GET", second + "/input_items?after=" + page.find("last_id")->as_string("id")).json();
  EXPECT_EQ(rest.find("data")->as_array("data").front(), items[0]);
  EXPECT_EQ(call("GET", second + "/input_items?limit=0").code(), "invalid_value");
  EXPECT_EQ(call("GET", second + "/input_items?after=x").code(), "invalid_value");
  EXPECT_EQ(call("GET", second + "/input_items?order=up").code(), "invalid_value");
}

TEST_F(StoredResponsesTest, ForgetsWhatIsDeletedAndTheOldest) {
  say("abc");
  start();
  const std::string first = id_of(ask(R"("input":"hi","store":true)"));
  const Json deleted = call("DELETE", first).json();
  EXPECT_EQ(*deleted.find("deleted"), Json(true));
  EXPECT_EQ(call("DELETE", first).code(), "response_not_found");
  const std::string oldest = id_of(ask(R"("input":"hi","store":true)"));
  for (int i = 0; i < 4; ++i) id_of(ask(R"("input":"hi","store":true)"));
  EXPECT_EQ(status_of(oldest), "response_not_found");
  EXPECT_TRUE(has_metric("parhelion_stored_responses 4"));
  EXPECT_TRUE(has_metric("parhelion_evicted_responses_total 1"));
}

TEST_F(StoredResponsesTest, ShowsAKeyOnlyItsOwn) {
  options_.keys = Keys("a aaaaaaaaaaaaaaaa\nb bbbbbbbbbbbbbbbb");
  const std::string alice = "x-api-key: aaaaaaaaaaaaaaaa\r\n";
  const std::string bob = "x-api-key: bbbbbbbbbbbbbbbb\r\n";
  say("abc");
  start();
  const std::string id = id_of(ask(R"("input":"hi","store":true)", alice));
  const std::string on = R"("input":"x","previous_response_id":")" + id + "\"";
  EXPECT_EQ(call("GET", id).code(), "invalid_api_key");
  EXPECT_EQ(call("GET", id, bob).code(), "response_not_found");
  EXPECT_EQ(call("GET", id + "/input_items", bob).code(), "response_not_found");
  EXPECT_EQ(call("DELETE", id, bob).code(), "response_not_found");
  EXPECT_EQ(call("POST", id + "/cancel", bob).code(), "response_not_found");
  EXPECT_EQ(ask(on, bob).code(), "response_not_found");
  EXPECT_EQ(ask(on, alice).status, 200);
}

TEST_F(StoredResponsesTest, WorksInTheBackground) {
  say("abc");
  start();
  engine_->pause();
  const Received begun = ask(R"("input":"hi","background":true)");
  const std::string id = id_of(begun);
  EXPECT_EQ(*begun.json().find("status"), Json("queued"));
  EXPECT_EQ(*begun.json().find("background"), Json(true));
  EXPECT_EQ(call("DELETE", id).code(), "response_in_progress");
  EXPECT_EQ(ask(R"("input":"x","previous_response_id":")" + id + "\"").code(),
            "response_in_progress");
  engine_->resume();
  EXPECT_TRUE(eventually([&] { return status_of(id) == "completed"; }));
  const Json done = call("GET", id).json();
  const Json& item = done.find("output")->as_array("output").front();
  EXPECT_EQ(*item.find("content")->as_array("content").front().find("text"), Json("abc"));
  EXPECT_EQ(*call("POST", id + "/cancel").json().find("status"), Json("completed"));
  EXPECT_EQ(call("DELETE", id).status, 200);
}

TEST_F(StoredResponsesTest, CancelsWhatIsInTheBackground) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(1);
  start();
  const std::string id = id_of(ask(R"("input":"hi","background":true,"store":true)"));
  EXPECT_TRUE(eventually([&] { return status_of(id) == "in_progress"; }));
  EXPECT_EQ(*call("POST", id + "/cancel").json().find("status"), Json("cancelled"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_EQ(status_of(id), "cancelled");
  EXPECT_EQ(ask(R"("input":"x","previous_response_id":")" + id + "\"").code(), "invalid_value");
  EXPECT_TRUE(has_metric(R"(parhelion_cancelled_total{reason="asked"} 1)"));
}

TEST_F(StoredResponsesTest, TellsWhatFailedInTheBackground) {
  model_.fails = [](const serve::Request&) { return true; };
  start();
  const std::string id = id_of(ask(R"("input":"hi","background":true)"));
  EXPECT_TRUE(eventually([&] { return status_of(id) == "failed"; }));
  EXPECT_EQ(*call("GET", id).json().find("error")->find("code"), Json("numeric_failure"));
}

TEST_F(StoredResponsesTest, KeepsTheTimeOfWhatIsInTheBackground) {
  start();
  engine_->pause();
  const std::string id = id_of(ask(R"("input":"hi","background":true,"timeout":0.02)"));
  EXPECT_TRUE(eventually([&] { return status_of(id) == "failed"; }));
  EXPECT_EQ(*call("GET", id).json().find("error")->find("code"), Json("request_timeout"));
}

TEST_F(StoredResponsesTest, TakesNoMoreInTheBackgroundThanItKeeps) {
  start();
  engine_->pause();
  for (int i = 0; i < 4; ++i) id_of(ask(R"("input":"hi","background":true)"));
  EXPECT_EQ(ask(R"("input":"hi","background":true)").code(), "queue_full");
}

TEST_F(StoredResponsesTest, LeavesNothingBehindOfWhatTheEngineRefuses) {
  model_.queue = 0;
  start();
  EXPECT_EQ(ask(R"("input":"hi","background":true)").code(), "queue_full");
  EXPECT_TRUE(has_metric("parhelion_stored_responses 0"));
}

TEST_F(StoredResponsesTest, RefusesWhatCannotBe) {
  options_.stored.bytes = 4096;
  say("abc");
  start();
  EXPECT_EQ(ask(R"("input":"hi","background":true,"store":false)").code(), "invalid_value");
  EXPECT_EQ(ask(R"("input":"hi","background":true,"stream":true)").code(), "unsupported_feature");
  EXPECT_EQ(ask(R"("input":"hi","previous_response_id":"resp_1")").code(), "response_not_found");
  EXPECT_EQ(ask(R"("input":"hi","conversation":"c")").code(), "unsupported_feature");
  const std::string thought = R"({"type":"reasoning","summary":")" + std::string(5000, 'x') + "\"}";
  EXPECT_EQ(ask(R"("store":true,"input":[{"role":"user","content":"hi"},)" + thought + "]").code(),
            "invalid_value");
  const std::string id = id_of(ask(R"("input":"hi","store":true)"));
  EXPECT_EQ(call("GET", id + "?stream=true").code(), "unsupported_feature");
  EXPECT_EQ(call("POST", id + "/cancel").code(), "invalid_value");
  EXPECT_EQ(call("GET", id + "/other").code(), "not_found");
  EXPECT_EQ(call("POST", id).code(), "not_found");
}

TEST_F(StoredResponsesTest, TellsTheMethodsOfAPath) {
  start();
  const Received reply = call("PUT", "resp_1");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.field("allow"), "GET, HEAD, DELETE, POST");
}

}  // namespace
}  // namespace parhelion::app
