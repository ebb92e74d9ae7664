#include "http_support.h"

namespace parhelion::app {
namespace {

/// Requests that are wrong in some way, beside one whose tokens must not change.
class IsolationTest : public HttpTest {
 protected:
  std::string golden() const {
    const Received reply = post("/v1/completions", R"({"prompt":"golden","seed":7,"max_tokens":40,)"
                                                   R"("logprobs":1,"return_token_ids":true})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? write_json(*reply.json().find("choices")) : "";
  }
  static std::string chat(const std::string& members) {
    return post_text("/v1/chat/completions",
                     R"({"messages":[{"role":"user","content":"x"}],)" + members + "}");
  }
  static std::vector<std::string> hostile() {
    std::string nested = "1";
    for (int i = 0; i < 10'000; ++i) nested = "[" + nested + "]";
    const std::string schema = R"({"allOf":[{"type":"string"},{"type":"integer"}]})";
    std::string fields;
    for (int i = 0; i < 2000; ++i) fields += "x-" + std::to_string(i) + ": y\r\n";
    return {
        "\x16\x03\x01 nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\n" + fields + "\r\n",
        post_text("/v1/completions", "{\"prompt\":\"\xff\"}"),
        post_text("/v1/completions", R"({"prompt":"x","prompt":"y"})"),
        post_text("/v1/completions", R"({"prompt":)" + nested + "}"),
        post_text("/v1/completions", std::string(9 << 20, '[')),
        post_text("/v1/completions", R"({"prompt":{"a":1}})"),
        post_text("/v1/completions", R"({"prompt":[99999]})"),
        post_text("/v1/completions", R"({"prompt":"x","max_tokens":100000})"),
        post_text("/v1/completions",
                  R"x({"prompt":"x","regex":"((((a{1,999}){1,999}){1,999}))"})x"),
        post_text("/v1/completions", R"x({"prompt":"x","regex":"(((("})x"),
        post_text("/v1/completions", R"({"prompt":"x","grammar":"root ::= root"})"),
        chat(R"("response_format":{"type":"json_schema","json_schema":{"schema":)" + schema + "}}"),
        chat(R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":"x"}}})"),
        chat(R"("tools":[{"type":"function","function":{"name":"a b"}}])"),
        chat(R"("temperature":"hot")"),
        chat(R"("n":100000)"),
        "DELETE /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
    };
  }
};

TEST_F(IsolationTest, BadRequestsAreErrorsAndChangeNoTokens) {
  model_.context_tokens = 512;
  start();
  const std::string expected = golden();
  for (const std::string& bytes : hostile()) {
    const Received reply = request(bytes);
    EXPECT_GE(reply.status, 400) << bytes.substr(0, 200);
    EXPECT_LT(reply.status, 500) << bytes.substr(0, 200) << reply.body;
    EXPECT_EQ(golden(), expected) << bytes.substr(0, 200);
  }
  EXPECT_EQ(engine_->counts().running, 0);
}

TEST_F(IsolationTest, ClientsThatLeaveAtEachPhaseChangeNoTokens) {
  model_.step = std::chrono::milliseconds(1);
  start();
  const std::string expected = golden();
  const std::string whole = chat(R"("stream":true,"max_tokens":400,"seed":1)");
  const std::size_t body = whole.find("\r\n\r\n") + 4;
  for (const std::size_t sent : {std::size_t{1}, body / 2, body, body + 5, whole.size()}) {
    {
      RawClient client(server_->port());
      client.send(whole.substr(0, sent));
    }
    EXPECT_EQ(golden(), expected) << sent;
  }
  {
    RawClient client(server_->port());
    client.send(whole);
    client.read_through("data: ");
  }
  EXPECT_EQ(golden(), expected);
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(IsolationTest, ThousandsOfIdleConnectionsChangeNoTokens) {
  start();
  const std::string expected = golden();
  constexpr std::int64_t kIdle = 2000;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::int64_t i = 0; i < kIdle; ++i)
    clients.push_back(std::make_unique<RawClient>(server_->port()));
  EXPECT_TRUE(eventually([&] { return server_->connections() >= kIdle; }));
  EXPECT_EQ(golden(), expected);
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(IsolationTest, ASlowReaderHoldsNobodyUp) {
  http_.limits.write_time = std::chrono::seconds(5);
  start();
  const std::string expected = golden();
  RawClient slow(server_->port(), 2048);
  std::string many;
  for (int i = 0; i < 16; ++i) many += chat(R"("stream":true,"n":8,"max_tokens":500,"seed":1)");
  slow.send(many);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(golden(), expected);
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_EQ(get("/health/ready").status, 200);
}

}  // namespace
}  // namespace parhelion::app
