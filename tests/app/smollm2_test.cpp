// SmolLM2-135M-Instruct from the GGUF file that tools/fetch-smollm2 fetches.

#include "app/export_model.h"
#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/train_score.h"
#include "app/weights.h"
#include "base/file.h"
#include "base/json.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "state/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

namespace parhelion::app {
namespace {

const std::filesystem::path kModel = PARHELION_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<std::int32_t> ids_of(const Json& value) {
  std::vector<std::int32_t> ids;
  for (const Json& id : value.as_array("ids"))
    ids.push_back(static_cast<std::int32_t>(id.as_int64("id")));
  return ids;
}

TEST(SmolLm2, GreedyIdsInFloat32AreThoseOfTransformers) {
  const Json golden =
      parse_json(read_file(PARHELION_TEST_DATA "/app/smollm2_greedy.json"), "golden");
  const text::Tokenizer tokenizer = load_tokenizer(kModel);
  const model::OpenedModel opened = model::open_model(kModel);
  const auto executor = exec::make_cpu_executor({.threads = 2});
  contract::Contract contract = prepare::make_contract(
      opened.model, {.kind = ir::Kind::f32,
                     .context_tokens = 256,
                     .catalogue = {prepare::one_row(1, 1), prepare::one_row(32, 1)}});
  contract.stop_ids.clear();
  serve::Engine engine(std::move(contract), *executor, {});
  upload_weights(opened, ir::Kind::f32, *executor);
  for (const Json& each : golden.find("cases")->as_array("cases")) {
    const std::string prompt = each.find("prompt")->as_string("prompt");
    const auto prompt_ids = tokenizer.encode(prompt);
    EXPECT_EQ(prompt_ids, ids_of(*each.find("prompt_ids"))) << prompt;
    const auto completion = serve::complete(
        engine, {.prompt = prompt_ids, .max_tokens = 100, .temperature = 0.0}, [](std::int32_t) {});
    EXPECT_EQ(completion.ids, ids_of(*each.find("ids"))) << prompt;
  }
}

/// Every parameter as bf16, by name.
std::map<std::string, std::vector<std::byte>> bf16_parameters(const std::filesystem::path& path) {
  std::map<std::string, std::vector<std::byte>> parameters;
  const model::OpenedModel opened = model::open_model(path);
  model::load_parameters(opened, [&parameters](const state::TensorView& tensor) {
    std::vector<std::byte>& bytes = parameters[tensor.name];
    bytes.resize(static_cast<std::size_t>(*state::element_count(tensor.shape)) * 2);
    state::convert(tensor.kind, tensor.bytes, ir::Kind::bf16, bytes);
  });
  return parameters;
}

TEST(SmolLm2, ExportedHasTheWeightsAndTokensOfItsFile) {
  const std::filesystem::path out =
      std::filesystem::path(testing::TempDir()) / "parhelion_smollm2_export";
  std::filesystem::remove_all(out);
  std::vector<train::ModelFile> files = config_files(kModel);
  std::ranges::move(tokenizer_files(kModel), std::back_inserter(files));
  export_hugging_face(model::open_model(kModel), files, ir::Kind::bf16, out);
  EXPECT_EQ(bf16_parameters(out), bf16_parameters(kModel));
  const std::string text = read_file(PARHELION_TEST_DATA "/app/smollm2_text.txt");
  EXPECT_EQ(load_tokenizer(out).encode(text), load_tokenizer(kModel).encode(text));
  EXPECT_EQ(load_chat_template(out), load_chat_template(kModel));
  std::filesystem::remove_all(out);
}

class SmolLm2EqualBits : public testing::TestWithParam<std::tuple<ir::Kind, int>> {};

TEST_P(SmolLm2EqualBits, OfTrainingForwardPrefillChunksAndDecode) {
  const auto [kind, threads] = GetParam();
  const model::OpenedModel opened = model::open_model(kModel);
  const auto ids =
      load_tokenizer(kModel).encode(read_file(PARHELION_TEST_DATA "/app/smollm2_text.txt"));
  const auto count = static_cast<std::int64_t>(ids.size());
  ASSERT_GT(count, 128);
  const auto reference = exec::make_cpu_executor({.threads = 1});
  const std::vector<float> expected = score_through_training(opened, ids, kind, *reference);
  const auto executor = exec::make_cpu_executor({.threads = threads});
  EXPECT_EQ(score_through_training(opened, ids, kind, *executor), expected);
  for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{7}, std::int64_t{64}, count}) {
    const auto device = exec::make_cpu_executor({.threads = threads});
    serve::Engine engine(
        prepare::make_contract(
            opened.model,
            {.kind = kind, .context_tokens = count, .catalogue = {prepare::one_row(chunk, chunk)}}),
        *device, {});
    upload_weights(opened, kind, *device);
    EXPECT_EQ(serve::score(engine, ids), expected) << "chunks of " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(KindsAndThreads, SmolLm2EqualBits,
                         testing::Combine(testing::Values(ir::Kind::f32, ir::Kind::bf16),
                                          testing::Values(1, 2)));

}  // namespace
}  // namespace parhelion::app
