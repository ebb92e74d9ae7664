#include "http_support.h"
#include <cstring>

namespace parhelion::app {
namespace {

/// A server whose vectors count a prompt's ids by their remainders by 4.
class EmbeddingsTest : public HttpTest {
 protected:
  void SetUp() override {
    served_.embedding = contract::EmbeddingPolicy{.normalises = false, .dimensions = {2}};
    served_.embedding_width = 4;
  }
  Received ask(const std::string& fields) const {
    return post("/v1/embeddings", "{" + fields + "}");
  }
  static std::vector<float> vector_of(const Received& reply, std::size_t index) {
    const Json whole = reply.json();
    const Json& item = whole.find("data")->as_array("data").at(index);
    EXPECT_EQ(*item.find("index"), Json(static_cast<std::int64_t>(index)));
    std::vector<float> vector;
    for (const Json& number : item.find("embedding")->as_array("embedding"))
      vector.push_back(static_cast<float>(number.as_double("embedding")));
    return vector;
  }
  static std::int64_t prompt_tokens(const Received& reply) {
    return reply.json().find("usage")->find("prompt_tokens")->as_int64("prompt_tokens");
  }
};

/// The floats of base64 text.
std::vector<float> unpacked(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255u);
  }
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

TEST_F(EmbeddingsTest, AnswersEveryFormOfInputInItsOrder) {
  start();
  const Received ids = ask(R"("input":[5,6,6])");
  ASSERT_EQ(ids.status, 200) << ids.body;
  EXPECT_EQ(vector_of(ids, 0), (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(prompt_tokens(ids), 3);
  EXPECT_EQ(*ids.json().find("model"), Json("tiny"));
  const Received lists = ask(R"("input":[[4],[5,5],[7]])");
  EXPECT_EQ(vector_of(lists, 0), (std::vector<float>{1, 0, 0, 0}));
  EXPECT_EQ(vector_of(lists, 1), (std::vector<float>{0, 2, 0, 0}));
  EXPECT_EQ(vector_of(lists, 2), (std::vector<float>{0, 0, 0, 1}));
  EXPECT_EQ(prompt_tokens(lists), 4);
  const Received text = ask(R"("input":"abc")");
  const Received texts = ask(R"("input":["abc","x"])");
  EXPECT_EQ(vector_of(text, 0), vector_of(texts, 0));
}

TEST_F(EmbeddingsTest, GivesOnlyMoreTextsThanMayWaitAtATimeLittleByLittle) {
  served_.most_sequences = 3;
  model_.queue = 3;
  start();
  std::string lists = "[4]";
  for (int i = 1; i < 20; ++i) lists += ",[" + std::to_string(4 + i % 4) + "]";
  const Received reply = ask(R"("input":[)" + lists + "]");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(vector_of(reply, 19), (std::vector<float>{0, 0, 0, 1}));
  EXPECT_EQ(prompt_tokens(reply), 20);
}

TEST_F(EmbeddingsTest, PacksTheSameNumbersInBase64) {
  served_.embedding->normalises = true;
  start();
  const Received numbers = ask(R"("input":[5,6,6,7,7,7,8])");
  const Received packed = ask(R"("input":[5,6,6,7,7,7,8],"encoding_format":"base64")");
  const Json whole = packed.json();
  const Json& item = whole.find("data")->as_array("data").front();
  EXPECT_EQ(unpacked(item.find("embedding")->as_string("embedding")), vector_of(numbers, 0));
}

TEST_F(EmbeddingsTest, CutsVectorsAndThenNormalises) {
  served_.embedding->normalises = true;
  start();
  const std::vector<float> cut = vector_of(ask(R"("input":[4,4,4,5,5,5,5,6,7],"dimensions":2)"), 0);
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_FLOAT_EQ(cut[0], 0.6f);
  EXPECT_FLOAT_EQ(cut[1], 0.8f);
  EXPECT_EQ(vector_of(ask(R"("input":[6],"dimensions":2)"), 0), (std::vector<float>{0, 0}));
  EXPECT_EQ(vector_of(ask(R"("input":[6],"dimensions":4)"), 0).size(), 4U);
  EXPECT_EQ(ask(R"("input":[6],"dimensions":3)").code(), "invalid_value");
  EXPECT_EQ(ask(R"("input":[6],"dimensions":5)").code(), "invalid_value");
}

TEST_F(EmbeddingsTest, RefusesWhatIsNoInput) {
  start();
  for (const char* input : {R"("")", "[]", "[[]]", R"(["a",""])", R"(["a",[1]])", "[1,\"a\"]", "3",
                            "[999]", "[[1],[999]]", "[-1]"})
    EXPECT_EQ(ask(std::string(R"("input":)") + input).code(), "invalid_value") << input;
  EXPECT_EQ(ask(R"("other":1)").code(), "invalid_value");
  EXPECT_EQ(ask(R"("input":"a","encoding_format":"hex")").code(), "invalid_value");
  EXPECT_EQ(ask(R"("input":"a","model":"other")").code(), "model_not_found");
}

TEST_F(EmbeddingsTest, TakesAsManyTextsAndTokensAsThereMayBe) {
  served_.context_tokens = 5;
  start();
  EXPECT_EQ(ask(R"("input":[1,2,3,4,5])").status, 200);
  const Received longer = ask(R"("input":[[1],[1,2,3,4,5,6]])");
  EXPECT_EQ(longer.code(), "context_length_exceeded");
  EXPECT_NE(longer.body.find("text 1 has 6 tokens, the context holds 5"), std::string::npos);
  const Received cut = ask(R"("input":[0,4,5,6,7],"truncate_prompt_tokens":2)");
  EXPECT_EQ(vector_of(cut, 0), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(prompt_tokens(cut), 2);
  std::string lists = "[1]";
  for (int i = 1; i < 2048; ++i) lists += ",[1]";
  EXPECT_EQ(ask(R"("input":[)" + lists + "]").status, 200);
  EXPECT_EQ(ask(R"("input":[)" + lists + ",[1]]").code(), "invalid_value");
}

TEST_F(EmbeddingsTest, TellsOfAFullQueueAndOfNumbersThatAreNotFinite) {
  model_.queue = 1;
  model_.fails = [](const serve::Request& request) { return request.prompt.front() == 3; };
  start();
  EXPECT_EQ(ask(R"("input":[3])").code(), "numeric_failure");
  engine_->pause();
  EXPECT_EQ(ask(R"("input":[[4],[5]])").code(), "queue_full");
  engine_->resume();
  EXPECT_EQ(ask(R"("input":[4])").status, 200);
  EXPECT_TRUE(has_metric(R"(parhelion_requests_total{endpoint="embeddings",finish="stop"} 1)"));
}

TEST_F(EmbeddingsTest, CancelsWhenTheClientLeaves) {
  start();
  engine_->pause();
  {
    RawClient client(server_->port());
    client.send(post_text("/v1/embeddings", R"({"input":[[4],[5]]})"));
    EXPECT_TRUE(eventually([&] { return engine_->counts().running == 2; }));
  }
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(has_metric("prompt_tokens_total 2\n"));
}

}  // namespace
}  // namespace parhelion::app
