#include "http_support.h"

namespace parhelion::app {
namespace {

using testing::Test;

class TransportTest : public HttpTest {};

TEST_F(TransportTest, AnswersRequestsOfOneConnectionInTheirOrder) {
  start();
  RawClient client(server_->port());
  std::string pipeline;
  for (const char* word : {"a", "b", "c"})
    pipeline += post_text("/tokenize", std::string(R"({"prompt":")") + word + "\"}");
  client.send(pipeline);
  for (const std::int64_t id : {67, 68, 69}) {
    const Received reply = client.receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json().find("tokens")->as_array("tokens").front(), Json(id));
  }
}

TEST_F(TransportTest, KeepsWhatComesWhileItAnswers) {
  say("abc");
  start();
  engine_->pause();
  RawClient client(server_->port());
  client.send(post_text("/v1/completions", R"({"prompt":"x"})"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  client.send(post_text("/tokenize", R"({"prompt":"a"})"));
  engine_->resume();
  EXPECT_NE(client.receive().body.find("abc"), std::string::npos);
  EXPECT_EQ(client.receive().json().find("count")->as_int64("count"), 1);
}

TEST_F(TransportTest, ClosesWhenTheClientAsksForIt) {
  start();
  RawClient client(server_->port());
  client.send("GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  EXPECT_NE(client.read_all().find("connection: close"), std::string::npos);
}

TEST_F(TransportTest, AnswersHttp10WithoutChunks) {
  say("abc");
  start();
  RawClient client(server_->port());
  const std::string body = R"({"prompt":"x","stream":true})";
  client.send(
      "POST /v1/completions HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string all = client.read_all();
  EXPECT_EQ(all.find("transfer-encoding"), std::string::npos);
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n"));
}

TEST_F(TransportTest, TakesABodyInChunks) {
  start();
  const Received reply = request(
      "POST /tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
      "transfer-encoding: chunked\r\n\r\n8\r\n{\"prompt\r\n7\r\n\":\"ab\"}\r\n0\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
}

TEST_F(TransportTest, SendsContinueWhereAClientWaitsForIt) {
  start();
  RawClient client(server_->port());
  client.send(
      "POST /tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
      "expect: 100-continue\r\ncontent-length: 14\r\n\r\n");
  EXPECT_EQ(client.read_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(R"({"prompt":"a"})");
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(TransportTest, SendsNoBodyWhereOnlyTheHeadIsAskedFor) {
  start();
  const std::string body = get("/version").body;
  RawClient client(server_->port());
  client.send("HEAD /version HTTP/1.1\r\nhost: x\r\n\r\nHEAD /nothing HTTP/1.1\r\nhost: x\r\n\r\n");
  const std::string all = client.read_all();
  EXPECT_NE(all.find("content-length: " + std::to_string(body.size()) + "\r\n"), std::string::npos);
  EXPECT_NE(all.find("HTTP/1.1 404"), std::string::npos);
  EXPECT_EQ(all.find('{'), std::string::npos);
}

TEST_F(TransportTest, NamesARequestThatCannotBeRead) {
  http_.limits.head_bytes = 4096;
  start();
  RawClient client(server_->port());
  client.send("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx: " + std::string(8000, 'a') + "\r\n\r\n");
  const Received reply = client.receive();
  EXPECT_EQ(reply.status, 431);
  EXPECT_EQ(*reply.json().find("type"), Json("error"));
  EXPECT_EQ(*reply.json().find("request_id"), Json(reply.field("request-id")));
  EXPECT_TRUE(reply.field("request-id").starts_with("req_"));
}

struct BadHead {
  std::string name;
  std::string bytes;
  int status = 0;
  std::string code;
};

class BadHeadTest : public HttpTest, public testing::WithParamInterface<BadHead> {};

TEST_P(BadHeadTest, IsRefusedAndTheConnectionCloses) {
  http_.limits.head_bytes = 4096;
  http_.limits.body_bytes = 1000;
  options_.body_bytes = 1000;
  start();
  RawClient client(server_->port());
  client.send(GetParam().bytes);
  const Received reply = client.receive();
  EXPECT_EQ(reply.status, GetParam().status);
  EXPECT_EQ(reply.code(), GetParam().code);
  EXPECT_EQ(client.read_all(), "");
}

std::string head(const std::string& first, const std::string& fields) {
  return first + " HTTP/1.1\r\nhost: x\r\n" + fields + "\r\n";
}

const std::string kJsonType = "content-type: application/json\r\n";

INSTANTIATE_TEST_SUITE_P(
    Heads, BadHeadTest,
    testing::Values(
        BadHead{"NoHttp", "hello there\r\n\r\n", 400, "invalid_request"},
        BadHead{"NoVersion", "GET /version\r\n\r\n", 400, "invalid_request"},
        BadHead{"BadField", head("GET /version", "a b c\r\n"), 400, "invalid_request"},
        BadHead{"BinaryJunk", std::string("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 11), 400,
                "invalid_request"},
        BadHead{"NoPath", head("GET version", ""), 400, "invalid_target"},
        BadHead{"BrokenEscape", head("GET /v1/models/%4", ""), 400, "invalid_target"},
        BadHead{"FieldFlood", head("GET /version", "x: " + std::string(8000, 'a') + "\r\n"), 431,
                "head_too_large"},
        BadHead{"LongTarget", head("GET /" + std::string(8000, 'a'), ""), 431, "head_too_large"},
        BadHead{"UnknownPath", head("GET /nothing", ""), 404, "not_found"},
        BadHead{"WrongMethod", head("DELETE /v1/models", ""), 405, "method_not_allowed"},
        BadHead{"NoLength", head("POST /tokenize", kJsonType), 411, "length_required"},
        BadHead{"OtherType",
                head("POST /tokenize", "content-type: text/plain\r\ncontent-length: 2\r\n") + "{}",
                415, "unsupported_media_type"},
        BadHead{"OtherCoding", head("POST /tokenize", kJsonType + "transfer-encoding: gzip\r\n"),
                501, "unsupported_transfer_encoding"},
        BadHead{"CodingBeforeChunks",
                head("POST /tokenize", kJsonType + "transfer-encoding: gzip, chunked\r\n"), 501,
                "unsupported_transfer_encoding"},
        BadHead{"TwoCodings",
                head("POST /tokenize", kJsonType + "transfer-encoding: chunked\r\n" +
                                           "transfer-encoding: chunked\r\n"),
                400, "invalid_request"},
        BadHead{"CodingOfAGet", head("GET /version", "transfer-encoding: identity\r\n"), 501,
                "unsupported_transfer_encoding"},
        BadHead{"ChunksOfOldHttp",
                "POST /tokenize HTTP/1.0\r\nhost: x\r\n" + kJsonType +
                    "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                501, "unsupported_transfer_encoding"},
        BadHead{
            "TwoLengths",
            head("POST /tokenize", kJsonType + "content-length: 2\r\n" + "content-length: 3\r\n"),
            400, "invalid_request"},
        BadHead{"LengthAndChunks",
                head("POST /tokenize",
                     kJsonType + "content-length: 2\r\n" + "transfer-encoding: chunked\r\n"),
                400, "invalid_request"},
        BadHead{"NegativeLength", head("POST /tokenize", kJsonType + "content-length: -1\r\n"), 400,
                "invalid_request"},
        BadHead{"HugeLength", head("POST /tokenize", kJsonType + "content-length: 5000\r\n"), 413,
                "body_too_large"},
        BadHead{"HugeChunks",
                head("POST /tokenize", kJsonType + "transfer-encoding: chunked\r\n") + "1388\r\n" +
                    std::string(5000, ' ') + "\r\n0\r\n\r\n",
                413, "body_too_large"},
        BadHead{"BadChunk",
                head("POST /tokenize", kJsonType + "transfer-encoding: chunked\r\n") + "zz\r\n",
                400, "invalid_request"}),
    [](const auto& each) { return each.param.name; });

TEST_F(TransportTest, ReadsAHugeBodySoThatItsErrorArrives) {
  http_.limits.body_bytes = 1000;
  start();
  RawClient client(server_->port());
  client.send(post_text("/tokenize", std::string(4 << 20, ' ')));
  EXPECT_EQ(client.receive().status, 413);
}

TEST_F(TransportTest, ClosesWhatIsSilentForTooLong) {
  http_.limits.idle_time = std::chrono::milliseconds(20);
  start();
  RawClient client(server_->port());
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(TransportTest, ClosesAHeadThatTakesTooLong) {
  http_.limits.head_time = std::chrono::milliseconds(20);
  start();
  RawClient client(server_->port());
  client.send("GET /ver");
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(TransportTest, ClosesABodyThatTakesTooLong) {
  http_.limits.body_time = std::chrono::milliseconds(20);
  start();
  RawClient client(server_->port());
  client.send(head("POST /tokenize", kJsonType + "content-length: 5\r\n") + "{");
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(TransportTest, TurnsAwayConnectionsBeyondTheLimit) {
  http_.limits.connections = 2;
  start();
  RawClient first(server_->port());
  RawClient second(server_->port());
  EXPECT_TRUE(eventually([&] { return server_->connections() == 2; }));
  RawClient third(server_->port());
  EXPECT_EQ(third.receive().status, 503);
  first.send("GET /version HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_EQ(first.receive().status, 200);
}

TEST_F(TransportTest, HoldsHundredsOfIdleConnections) {
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 300; }));
  EXPECT_EQ(get("/version").status, 200);
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(TransportTest, KeepsASilentStreamAlive) {
  http_.limits.keep_alive = std::chrono::milliseconds(10);
  say("abc");
  start();
  engine_->pause();
  RawClient client(server_->port());
  client.send(post_text("/v1/completions", R"({"prompt":"x","stream":true})"));
  EXPECT_NE(client.read_through(": keep-alive\n\n"), "");
  engine_->resume();
  EXPECT_NE(client.read_through("data: [DONE]"), "");
}

TEST_F(TransportTest, CancelsWhenTheClientLeavesBeforeTheFirstToken) {
  start();
  engine_->pause();
  {
    RawClient client(server_->port());
    client.send(post_text("/v1/completions", R"({"prompt":"x"})"));
    EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(has_metric(R"(parhelion_cancelled_total{reason="client_closed"} 1)"));
}

TEST_F(TransportTest, CancelsWhenTheClientLeavesAStream) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(1);
  model_.context_tokens = 1 << 20;
  start();
  {
    RawClient client(server_->port());
    client.send(post_text("/v1/completions", R"({"prompt":"x","stream":true,"max_tokens":500})"));
    client.read_through("data: ");
  }
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_LT(engine_->counts().drawn_tokens, 500);
}

TEST_F(TransportTest, CountsWhatAClientThatLeftHasUsed) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(1);
  start();
  {
    RawClient client(server_->port());
    client.send(
        post_text("/v1/completions", R"({"prompt":[70,70],"stream":true,"max_tokens":200})"));
    client.read_through("data: ");
  }
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  const std::int64_t drawn = engine_->counts().drawn_tokens;
  EXPECT_GT(drawn, 0);
  EXPECT_LT(drawn, 200);
  EXPECT_TRUE(has_metric("generated_tokens_total " + std::to_string(drawn) + "\n"));
  EXPECT_TRUE(has_metric("prompt_tokens_total 2\n"));
}

TEST_F(TransportTest, CancelsAnAnswerThatIsNotRead) {
  http_.limits.write_time = std::chrono::milliseconds(50);
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  start();
  engine_->pause();
  RawClient client(server_->port(), 2048);
  std::string many;
  for (int i = 0; i < 64; ++i)
    many += post_text("/v1/completions",
                      R"({"prompt":"x","stream":true,"n":8,"max_tokens":500,"logprobs":20})");
  client.send(many);
  engine_->resume();
  EXPECT_TRUE(eventually([&] { return has_metric(R"(reason="client_slow"} 1)"); }));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_EQ(get("/version").status, 200);
}

TEST_F(TransportTest, FinishesAnswersWhileItDrains) {
  say("abc");
  start();
  engine_->pause();
  RawClient idle(server_->port());
  RawClient client(server_->port());
  client.send(post_text("/v1/completions", R"({"prompt":"x"})"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  api_->drain();
  server_->drain();
  EXPECT_EQ(idle.read_all(), "");
  engine_->resume();
  const Received reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("connection"), "close");
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(TransportTest, EndsStreamsWithAnErrorWhenAllIsCancelled) {
  model_.draw = [](const serve::Request&, std::int64_t, std::int64_t) { return 70; };
  model_.step = std::chrono::milliseconds(20);
  start();
  RawClient client(server_->port());
  client.send(post_text("/v1/chat/completions",
                        R"({"messages":[{"role":"user","content":"x"}],"stream":true})"));
  client.read_through("assistant");
  api_->cancel_all();
  const std::string rest = client.read_through("0\r\n\r\n");
  EXPECT_NE(rest.find("event: error"), std::string::npos);
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
}

TEST_F(TransportTest, AbortClosesEverything) {
  start();
  engine_->pause();
  RawClient idle(server_->port());
  RawClient client(server_->port());
  client.send(post_text("/v1/completions", R"({"prompt":"x"})"));
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
  server_->abort();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_EQ(engine_->counts().running, 0);
}

}  // namespace
}  // namespace parhelion::app
