#include "app/served_engine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

#include <gmock/gmock.h>

#include "engine_support.h"
#include <cmath>
#include <condition_variable>
#include <mutex>

namespace parhelion::app {
namespace {

const std::filesystem::path kEmbeddingDirectory =
    std::filesystem::path(PARHELION_TEST_DATA) / "model/qwen3_embedding";

/// A text, and the vector that Transformers gives it in float64.
struct GoldenVector {
  std::string text;
  std::vector<std::int32_t> ids;
  std::vector<double> vector;
};

std::vector<GoldenVector> golden_vectors() {
  const Json whole = parse_json(read_file(kEmbeddingDirectory / "golden.json"), "golden");
  std::vector<GoldenVector> golden;
  for (const Json& item : whole.as_array("golden")) {
    GoldenVector each;
    each.text = item.find("text")->as_string("text");
    for (const Json& id : item.find("ids")->as_array("ids"))
      each.ids.push_back(static_cast<std::int32_t>(id.as_int64("id")));
    for (const Json& value : item.find("vector")->as_array("vector"))
      each.vector.push_back(value.as_double("value"));
    golden.push_back(std::move(each));
  }
  return golden;
}

double cosine_of(const std::vector<float>& a, const std::vector<double>& b) {
  double product = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    product += x * b[i];
    squares_a += x * x;
    squares_b += b[i] * b[i];
  }
  return product / std::sqrt(squares_a * squares_b);
}

/// Keeps what an engine gives for one prompt.
class VectorListener final : public serve::Sink {
 public:
  void take(const serve::TokenEvent&) override { ADD_FAILURE() << "a token was drawn"; }
  void take(const serve::FinishEvent& event) override {
    const std::lock_guard lock(mutex_);
    vector_.assign(event.embedding.begin(), event.embedding.end());
    finish_ = event;
    ended_.notify_all();
  }
  std::vector<float> wait() {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, std::chrono::seconds(60), [this] { return finish_.has_value(); });
    EXPECT_TRUE(finish_.has_value());
    return vector_;
  }
  serve::FinishEvent finish() const { return finish_.value(); }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<float> vector_;                 // guarded by mutex_
  std::optional<serve::FinishEvent> finish_;  // guarded by mutex_
};

/// Engines over the small model of embeddings, whose steps have few tokens.
class EmbeddingTest : public EngineTest {
 protected:
  EmbeddingTest() {
    opened_ = model::open_model(kEmbeddingDirectory);
    shape_.context_tokens = 128;
    shape_.embed_catalogue = {test::step_capacities(12, 3, 3), test::step_capacities(24, 6, 6)};
  }
  static std::vector<float> embed(serve::Engine& engine, const std::vector<std::int32_t>& ids) {
    VectorListener listener;
    engine.add(engine.sequences_of({.prompt = ids, .embeds = true}, {1}, listener));
    while (engine.step()) {
    }
    return listener.wait();
  }
};

TEST_F(EmbeddingTest, GivesTheVectorsOfTransformers) {
  serve::Engine& engine = make({});
  for (const GoldenVector& golden : golden_vectors()) {
    const std::vector<float> vector = embed(engine, golden.ids);
    ASSERT_EQ(vector.size(), golden.vector.size());
    EXPECT_GE(cosine_of(vector, golden.vector), 0.999999) << golden.text;
  }
  engine.audit();
}

TEST_F(EmbeddingTest, PublishesNothingAndGivesItsPagesBack) {
  serve::Engine& engine = make({});
  const std::int64_t free = engine.counts().pages_free;
  embed(engine, golden_vectors().back().ids);
  EXPECT_EQ(engine.counts().pages_free, free);
  EXPECT_EQ(engine.counts().pages_cached, 0);
}

TEST_F(EmbeddingTest, GivesTheSameBitsBesideOthersAndWhateverTheChunks) {
  const std::vector<GoldenVector> golden = golden_vectors();
  std::vector<std::vector<float>> expected;
  for (const GoldenVector& each : golden) {
    serve::Engine& engine = make({.shares_prefixes = false});
    expected.push_back(embed(engine, each.ids));
  }
  serve::Engine& engine = make({.step_tokens = 7});
  std::vector<VectorListener> vectors(golden.size());
  Listener tokens;
  const serve::Request text{.prompt = {5, 9, 4}, .max_tokens = 40, .temperature = 0.0};
  engine.add(engine.sequences_of(text, {1}, tokens));
  for (std::size_t i = 0; i < golden.size(); ++i) {
    engine.add(engine.sequences_of({.prompt = golden[i].ids, .embeds = true}, {i + 2}, vectors[i]));
    engine.step();
  }
  while (engine.step()) {
  }
  engine.audit();
  for (std::size_t i = 0; i < golden.size(); ++i) EXPECT_EQ(vectors[i].wait(), expected[i]) << i;
  EXPECT_EQ(vectors.back().finish().prompt_tokens, std::ssize(golden.back().ids));
  EXPECT_EQ(vectors.back().finish().drawn_tokens, 0);
  const Heard heard = tokens.heard[0];
  EXPECT_EQ(heard, alone({text}).front());
}

TEST_F(EmbeddingTest, LetsEngineEndRequestsThatOverlapAndGrow) {
  serve::Engine& engine = make({.pages = 60, .reserve = serve::Reserve::grow, .overlaps = true});
  const std::vector<GoldenVector> golden = golden_vectors();
  std::vector<VectorListener> vectors(8);
  for (std::size_t i = 0; i < vectors.size(); ++i)
    engine.add(engine.sequences_of({.prompt = golden[3].ids, .embeds = true}, {i + 1}, vectors[i]));
  while (engine.step()) {
  }
  engine.audit();
  for (VectorListener& each : vectors)
    EXPECT_GE(cosine_of(each.wait(), golden[3].vector), 0.999999);
}

TEST_F(EmbeddingTest, RefusesWhatDrawsOrCannotEmbed) {
  VectorListener listener;
  serve::Engine& engine = make({});
  EXPECT_THAT(
      [&] { engine.sequences_of({.prompt = {1}, .max_tokens = 1, .embeds = true}, {1}, listener); },
      testing::ThrowsMessage<Error>(testing::HasSubstr("draws nothing, expected max_tokens 0")));
  shape_.embed_catalogue.clear();
  serve::Engine& other = make({});
  EXPECT_THAT([&] { other.sequences_of({.prompt = {1}, .embeds = true}, {1}, listener); },
              testing::ThrowsMessage<Error>(
                  "request: asks for a vector, which the contract has no program for"));
}

TEST(ServedEmbeddings, FollowTheDirectoryFromTextToVector) {
  ServingChoice choice{.model = kEmbeddingDirectory};
  choice.rows = 4;
  choice.embeddings.dimensions = {8};
  ServedEngine served = start_engine(choice, {});
  ASSERT_TRUE(served.model.embedding.has_value());
  EXPECT_TRUE(served.model.embedding->normalises);
  EXPECT_EQ(served.model.embedding_width, 32);
  for (const GoldenVector& golden : golden_vectors()) {
    const std::vector<std::int32_t> ids =
        served.model.tokenizer.encode(golden.text, {.frame = text::Frame::post_processor});
    EXPECT_EQ(ids, golden.ids);
    VectorListener listener;
    served.engine->submit({.prompt = ids, .embeds = true}, listener);
    EXPECT_GE(cosine_of(listener.wait(), golden.vector), 0.999999);
  }
}

TEST(ServedEmbeddings, AreGivenInBf16AsCloselyAsThatAllows) {
  ServingChoice choice{.model = kEmbeddingDirectory, .dtype = "bf16"};
  choice.rows = 4;
  ServedEngine served = start_engine(choice, {});
  for (const GoldenVector& golden : golden_vectors()) {
    VectorListener listener;
    served.engine->submit({.prompt = golden.ids, .embeds = true}, listener);
    EXPECT_GE(cosine_of(listener.wait(), golden.vector), 0.9995) << golden.text;
  }
}

TEST(ServedEmbeddings, MustBeAskedForWhereTheDirectoryDoesNotSay) {
  const std::filesystem::path plain =
      std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_tiny";
  ServingChoice choice{.model = plain};
  EXPECT_FALSE(start_engine(choice, {}).model.embedding.has_value());
  choice.embeddings.dimensions = {8};
  EXPECT_THAT([&] { start_engine(choice, {}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("expected --embeddings")));
  choice.embeddings.wanted = true;
  EXPECT_EQ(start_engine(choice, {}).model.embedding_width, 48);
}

}  // namespace
}  // namespace parhelion::app
