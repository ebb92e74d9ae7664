#include "app/http/api_error.h"
#include "app/http/quotas.h"
#include "base/error.h"

#include "http_support.h"

namespace parhelion::app {
namespace {

const std::string kAdmin = "authorization: Bearer admin-0123456789abcdef\r\n";

class AdminTest : public HttpTest {
 protected:
  AdminTest() { options_.admin_keys = Keys("ops admin-0123456789abcdef\n"); }
  Received ask(const std::string& line, const std::string& fields = kAdmin) const {
    return request(line + " HTTP/1.1\r\nhost: x\r\n" + fields + "\r\n");
  }
};

TEST_F(AdminTest, NeedsAKeyForOperators) {
  options_.keys = Keys("alice sk-0123456789abcdef\n");
  options_.admin.trace = [] { return Json(Json::Array{}); };
  start();
  EXPECT_EQ(ask("GET /admin/trace", "").status, 401);
  EXPECT_EQ(ask("GET /admin/trace", "x-api-key: sk-0123456789abcdef\r\n").code(), "forbidden");
  EXPECT_EQ(ask("GET /admin/trace").status, 200);
  EXPECT_EQ(ask("GET /v1/models").status, 401);
}

TEST_F(AdminTest, IsClosedWhereThereAreNoSuchKeys) {
  options_.admin_keys = Keys();
  start();
  EXPECT_EQ(ask("POST /admin/drain").code(), "forbidden");
  EXPECT_EQ(get("/health/ready").status, 200);
}

TEST_F(AdminTest, DrainsAndGoesOnToListen) {
  std::atomic<int> drains = 0;
  options_.admin.drain = [&drains] { ++drains; };
  start();
  EXPECT_EQ(ask("POST /admin/drain").status, 200);
  EXPECT_EQ(drains, 1);
  EXPECT_EQ(get("/health/ready").status, 503);
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"x"})").code(), "draining");
  EXPECT_EQ(ask("POST /admin/drain").status, 200);
  EXPECT_EQ(drains, 1);  // a second one would not wait for what runs
}

TEST_F(AdminTest, CancelsARequestByItsId) {
  start();
  engine_->pause();
  RawClient client(server_->port());
  client.send(post_text("/v1/completions", R"({"prompt":"x"})", "x-request-id: mine\r\n"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  EXPECT_EQ(ask("POST /admin/cancel/other").code(), "request_not_found");
  EXPECT_EQ(ask("POST /admin/cancel/mine").status, 200);
  EXPECT_EQ(client.receive().code(), "cancelled");
}

TEST_F(AdminTest, ActsOnTheEngineWithoutHoldingOthersUp) {
  std::atomic<bool> may_go = false;
  options_.admin.reset_cache = [&may_go] { may_go.wait(false); };
  start();
  RawClient client(server_->port());
  client.send("POST /admin/cache/reset HTTP/1.1\r\nhost: x\r\n" + kAdmin + "\r\n");
  EXPECT_EQ(get("/version").status, 200);
  may_go = true;
  may_go.notify_all();
  EXPECT_EQ(*client.receive().json().find("status"), Json("done"));
}

TEST_F(AdminTest, TellsWhatAnAuditFinds) {
  options_.admin.audit = [] { fail(ErrorKind::bug, "page 3 is held twice"); };
  start();
  const Received reply = ask("POST /admin/audit");
  EXPECT_EQ(reply.status, 500);
  EXPECT_NE(reply.body.find("page 3 is held twice"), std::string::npos);
  EXPECT_EQ(ask("POST /admin/cache/reset").code(), "unsupported_feature");
}

TEST(Quotas, BoundsSequencesAndWaitingRequests) {
  Quotas quotas;
  const KeyFacts key{.label = "a", .limits = {.sequences = 3, .queued = 2}};
  auto first = quotas.take(key, 2, 0);
  EXPECT_THROW(quotas.take(key, 2, 0), RefusedRequest);
  const auto second = quotas.take(key, 1, 0);
  first.reset();
  const auto third = quotas.take(key, 1, 0);
  EXPECT_THROW(quotas.take(key, 1, 0), RefusedRequest);  // two wait
  second->begin();
  const auto fourth = quotas.take(key, 1, 0);
  const auto other = quotas.take({.label = "b", .limits = {.sequences = 5}}, 5, 0);
}

TEST(Quotas, ToldOfMoreSequencesThanTheKeyMayEverHaveIsNoMatterOfTime) {
  Quotas quotas;
  try {
    quotas.take({.label = "a", .limits = {.sequences = 3}}, 4, 0);
    FAIL();
  } catch (const RefusedRequest& refused) {
    EXPECT_EQ(refused.error().status, 400);
  }
}

TEST(Quotas, BoundsTokensOfAMinute) {
  Quotas quotas;
  const KeyFacts key{.label = "a", .limits = {.tokens_per_minute = 600}};
  const Quotas::Clock::time_point now{std::chrono::hours(1)};
  auto big = quotas.take(key, 1, 500, now);
  try {
    quotas.take(key, 1, 200, now);
    ADD_FAILURE() << "100 tokens are left";
  } catch (const RefusedRequest& error) {
    EXPECT_EQ(error.error().status, 429);
    EXPECT_EQ(error.error().retry_seconds, 10);
  }
  const auto later = quotas.take(key, 1, 200, now + std::chrono::seconds(10));
  big->settle(100);
  big.reset();  // 400 come back
  const auto more = quotas.take(key, 1, 400, now + std::chrono::seconds(10));
  EXPECT_THROW(quotas.take(key, 1, 1, now + std::chrono::seconds(10)), RefusedRequest);
}

TEST_F(AdminTest, HoldsAKeyToItsLimitsAndNoOther) {
  options_.keys = Keys("a aaaaaaaaaaaaaaaa sequences=1 priority=7\nb bbbbbbbbbbbbbbbb\n");
  start();
  engine_->pause();
  const auto with = [](const std::string& key) {
    return post_text("/v1/completions", R"({"prompt":"x","priority":2})",
                     "x-api-key: " + key + "\r\n");
  };
  RawClient client(server_->port());
  client.send(with("aaaaaaaaaaaaaaaa"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  const Received refused = request(with("aaaaaaaaaaaaaaaa"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.code(), "rate_limited");
  EXPECT_EQ(refused.field("retry-after"), "1");
  RawClient other(server_->port());
  other.send(with("bbbbbbbbbbbbbbbb"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 2; }));
  EXPECT_EQ(engine_->requests().front().priority, 7);
  EXPECT_EQ(engine_->requests().back().priority, 2);
  engine_->resume();
  client.receive();
  EXPECT_TRUE(eventually([&] { return request(with("aaaaaaaaaaaaaaaa")).status == 200; }));
}

}  // namespace
}  // namespace parhelion::app
