#include "app/train_score.h"
#include "app/weights.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace parhelion::app {
namespace {

/// A model of the golden set, a storage kind and a number of threads.
class EqualBits : public testing::TestWithParam<std::tuple<std::string, ir::Kind, int>> {
 protected:
  EqualBits()
      : opened_(model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model" /
                                  std::get<0>(GetParam()))) {
    const std::int64_t count = std::min<std::int64_t>(opened_.model.max_positions, 300);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto word = philox(7, static_cast<std::uint64_t>(i), 0)[0];
      ids_.push_back(
          static_cast<std::int32_t>(word % static_cast<std::uint64_t>(opened_.model.vocabulary)));
    }
  }

  ir::Kind kind() const { return std::get<1>(GetParam()); }
  std::unique_ptr<exec::Executor> executor(int threads) const {
    return exec::make_cpu_executor({.threads = threads});
  }

  std::vector<std::uint32_t> through_training(int threads) {
    const auto device = executor(threads);
    return bits(score_through_training(opened_, ids_, kind(), *device));
  }

  std::vector<std::uint32_t> through_serving(std::int64_t chunk) {
    const auto device = executor(std::get<2>(GetParam()));
    const auto count = static_cast<std::int64_t>(ids_.size());
    const std::int64_t tokens = std::min(chunk, count);
    serve::Engine engine(
        prepare::make_contract(opened_.model, {.kind = kind(),
                                               .context_tokens = count,
                                               .catalogue = {prepare::one_row(tokens, tokens)}}),
        *device, {});
    upload_weights(opened_, kind(), *device);
    return bits(serve::score(engine, ids_));
  }

  static std::vector<std::uint32_t> bits(const std::vector<float>& values) {
    std::vector<std::uint32_t> result;
    for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
  }

  model::OpenedModel opened_;
  std::vector<std::int32_t> ids_;
};

TEST_P(EqualBits, OfTrainingForwardPrefillChunksAndDecode) {
  const auto expected = through_training(1);
  ASSERT_EQ(expected.size() + 1, ids_.size());
  EXPECT_EQ(through_training(std::get<2>(GetParam())), expected);
  for (const std::int64_t chunk : {1, 7, 64, 1024}) {
    EXPECT_EQ(through_serving(chunk), expected) << "chunks of " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, EqualBits,
    testing::Combine(testing::Values("llama_tiny", "llama_scaled", "llama_tied", "llama_biased",
                                     "qwen3_grouped", "qwen3_tied", "qwen3_biased"),
                     testing::Values(ir::Kind::f32, ir::Kind::bf16), testing::Values(1, 2)),
    [](const auto& of) {
      return std::get<0>(of.param) + "_" + std::string(ir::name(std::get<1>(of.param))) + "_" +
             std::to_string(std::get<2>(of.param)) + "threads";
    });

}  // namespace
}  // namespace parhelion::app
