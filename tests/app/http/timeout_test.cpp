#include "http_support.h"

namespace parhelion::app {
namespace {

class TimeoutTest : public HttpTest {};

TEST_F(TimeoutTest, EndsWhatHasNotBegunWithAStatus) {
  start();
  engine_->pause();
  for (const char* stream : {"false", "true"}) {
    const Received reply = post("/v1/completions", std::string(R"({"prompt":"x","timeout":0.02,)") +
                                                       "\"stream\":" + stream + "}");
    EXPECT_EQ(reply.status, 408);
    EXPECT_EQ(reply.code(), "request_timeout");
  }
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_TRUE(has_metric(R"(parhelion_cancelled_total{reason="timeout"} 2)"));
}

TEST_F(TimeoutTest, EndsAStreamThatHasBegunWithAnEvent) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(5);
  start();
  const Received reply =
      post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"stream":true,)"
                                   R"("max_tokens":400,"timeout":0.05})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("event: error"), std::string::npos);
  EXPECT_NE(reply.body.find("request_timeout"), std::string::npos);
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
}

TEST_F(TimeoutTest, IsTheServersWhereTheRequestAsksForMore) {
  options_.request_seconds = 0.02;
  start();
  engine_->pause();
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","timeout":1000})").status, 408);
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x"})").status, 408);
}

TEST_F(TimeoutTest, LeavesWhatIsInTimeAlone) {
  say("abc");
  start();
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","timeout":60})").status, 200);
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x","timeout":0})").code(), "invalid_value");
}

TEST_F(TimeoutTest, IsAnErrorOfAnthropicsFormThere) {
  start();
  engine_->pause();
  const Received reply =
      post("/v1/messages",
           R"({"max_tokens":5,"messages":[{"role":"user","content":"x"}],"timeout":0.02})");
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(*reply.json().find("type"), Json("error"));
}

}  // namespace
}  // namespace parhelion::app
