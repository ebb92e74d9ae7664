#include "app/http/loading_gate.h"

#include "http_support.h"

namespace parhelion::app {
namespace {

/// A server whose gate is closed.
class LoadingTest : public HttpTest {
 protected:
  void listen() { server_ = std::make_unique<HttpServer>(http_, gate_); }
  /// As HttpTest::start, behind the gate.
  void open() {
    model_.vocabulary = 320;
    model_.context_tokens = 512;
    model_.stop_ids = {2};
    engine_ = std::make_unique<test::NullServer>(model_);
    api_ = std::make_unique<Api>(served_, *engine_, options_);
    gate_.open(*api_);
  }

  LoadingGate gate_{"test"};
};

TEST_F(LoadingTest, IsLiveButNotReady) {
  listen();
  EXPECT_EQ(get("/health/live").status, 200);
  const Received ready = get("/health/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(*ready.json().find("phase"), Json("load"));
  EXPECT_EQ(get("/health").status, 503);
  EXPECT_EQ(get("/version").status, 200);
  EXPECT_NE(get("/metrics").body.find("parhelion_ready 0\n"), std::string::npos);
}

TEST_F(LoadingTest, TurnsRequestsAwayForNow) {
  listen();
  const Received reply = post("/v1/completions", R"({"prompt":"x"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "loading");
  EXPECT_EQ(reply.field("retry-after"), "5");
  EXPECT_TRUE(reply.field("x-request-id").starts_with("req_"));
  EXPECT_EQ(*post("/v1/messages", "{}").json().find("type"), Json("error"));
  EXPECT_EQ(request("nonsense\r\n\r\n").code(), "invalid_request");
}

TEST_F(LoadingTest, AnswersOnceItIsOpen) {
  listen();
  RawClient early(server_->port());
  EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
  open();
  early.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_EQ(early.receive().status, 200);
  EXPECT_EQ(post("/tokenize", R"({"prompt":"a"})").status, 200);
}

TEST_F(LoadingTest, SaysThatItStopsWhereItGivesUp) {
  listen();
  gate_.give_up();
  EXPECT_EQ(post("/tokenize", R"({"prompt":"a"})").code(), "draining");
  EXPECT_EQ(*get("/health").json().find("phase"), Json("drain"));
}

}  // namespace
}  // namespace parhelion::app
