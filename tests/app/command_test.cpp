#include "app/command_support.h"
#include "base/file.h"
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace parhelion::app {
namespace {

using testing::HasSubstr;

std::string tiny() { return std::string("'") + PARHELION_TEST_DATA + "/model/llama_tiny' "; }

std::size_t length_of(const Json& object, std::string_view key) {
  return object.find(key)->as_array(key).size();
}

TEST(Command, GenerateWritesTheDocumentedObject) {
  const Outcome outcome =
      run("generate " + tiny() +
          "--prompt 'the sun' --max-tokens 5 --temperature 0 --dtype f32 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Json object = parse_json(outcome.output, "output");
  EXPECT_GT(length_of(object, "prompt_ids"), 0u);
  EXPECT_EQ(length_of(object, "ids"), length_of(object, "logprobs"));
  EXPECT_TRUE(object.find("text")->is_string());
  EXPECT_TRUE(object.find("finish_reason")->is_string());
  for (const char* key :
       {"load_seconds", "prefill_tokens_per_second", "decode_tokens_per_second"}) {
    EXPECT_TRUE(object.find("timing")->find(key)->is_number()) << key;
  }
}

TEST(Command, ComputesInTheKindOfTheWeightsUnlessToldOtherwise) {
  const std::string out = testing::TempDir() + "/parhelion_kind_" + std::to_string(::getpid());
  std::filesystem::remove_all(out);
  ASSERT_EQ(run("export " + tiny() + out + " --dtype bf16").code, 0);
  const auto score = [](const std::string& model, const std::string& dtype) {
    return run("score " + model + " --threads 1 " + dtype + " <<< 'a spot beside the sun'").output;
  };
  EXPECT_EQ(score(tiny(), ""), score(tiny(), "--dtype f32"));
  EXPECT_NE(score(tiny(), ""), score(tiny(), "--dtype bf16"));
  EXPECT_EQ(score(out, ""), score(out, "--dtype bf16"));
  EXPECT_NE(score(out, ""), score(out, "--dtype f32"));
  std::filesystem::remove_all(out);
}

TEST(Command, ChatAnswersThroughTheModelsTemplate) {
  const Outcome outcome =
      run("generate " + tiny() +
          "--chat 'What is a parhelion?' --max-tokens 40 --temperature 0 --dtype f32 --threads 1");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("parhelion"));
}

TEST(Command, ScoreWritesNullFirstAndEqualBitsThroughEveryProgram) {
  const std::string ids = testing::TempDir() + "/ids";
  AtomicFile file(ids);
  file.write("1 2 3\n40 50 60 7");
  file.commit();
  const std::string base =
      "score " + tiny() + "--ids-file " + ids + " --threads 1 --json --through ";
  const Outcome train = run(base + "train");
  ASSERT_EQ(train.code, 0) << train.output;
  const Json object = parse_json(train.output, "output");
  EXPECT_EQ(length_of(object, "ids"), 7u);
  EXPECT_EQ(length_of(object, "logprobs"), 7u);
  EXPECT_TRUE(object.find("logprobs")->as_array("logprobs").front().is_null());
  for (const char* through : {"prefill", "decode", "chunks=3"}) {
    EXPECT_EQ(run(base + through).output, train.output) << through;
  }
}

TEST(Command, TokenizeAndDecodeAreInverse) {
  const Outcome ids = run("tokenize " + tiny() + "<<< 'the sun rose'");
  ASSERT_EQ(ids.code, 0) << ids.output;
  const Outcome text = run("tokenize " + tiny() + "--decode <<< '" + ids.output + "'");
  EXPECT_EQ(text.output, "the sun rose\n");
}

TEST(Command, ExplainPrintsProgramKernelsCostAndMemory) {
  const Outcome outcome = run("explain " + tiny() + "--tokens 4 --threads 1");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part : {"model.layers.0.self_attn.q_proj.weight", "matmul.packed",
                           "paged_attention", "flops", "transient"}) {
    EXPECT_THAT(outcome.output, HasSubstr(part));
  }
}

TEST(Command, ExplainMeasuresTheLeastTimeOfEachKernel) {
  const Outcome outcome = run("explain " + tiny() + "--tokens 4 --batch 2 --context 16 --roofline");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part : {"measured: copies", "us of bytes", "by kernel", "least us"})
    EXPECT_THAT(outcome.output, HasSubstr(part));
}

TEST(Command, ExplainNeedsNoWeights) {
  const std::string config = std::string(PARHELION_TEST_DATA) + "/model/llama_tiny/config.json";
  const Outcome outcome = run("explain '" + config + "' --tokens 4 --dtype f32");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, run("explain " + tiny() + "--tokens 4 --dtype f32").output);
  EXPECT_THAT(run("explain '" + config + "' --adapter a").output,
              HasSubstr("is a config.json, expected a MODEL with weights for an adapter"));
}

TEST(Command, ExplainRefusesMoreTokensThanTheContextHas) {
  const Outcome outcome = run("explain " + tiny() + "--tokens 17 --context 16");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("explain: 17 tokens of a context of 16, expected"));
}

TEST(Command, ExportWritesAModelThatScoresTheSame) {
  const std::string out = testing::TempDir() + "/parhelion_export_" + std::to_string(::getpid());
  const std::string gguf = std::string("'") + PARHELION_TEST_DATA + "/app/llama_tiny.gguf' ";
  const Outcome outcome = run("export " + gguf + out);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, out + ": 20 parameter tensors as f32\n");
  const std::string rest = " --dtype f32 --threads 1 --json <<< 'The sun rises over the ice.'";
  const Outcome score = run("score " + out + rest);
  EXPECT_EQ(score.code, 0) << score.output;
  EXPECT_EQ(score.output, run("score " + gguf + rest).output);
  const Outcome again = run("export " + gguf + out);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("is there already, expected a new or empty directory"));
  std::filesystem::remove_all(out);
}

TEST(Command, KeepsAnAdapterBesideItsModelAndExportsIt) {
  const std::string out = testing::TempDir() + "/parhelion_adapter_" + std::to_string(::getpid());
  const std::string adapter =
      std::string("--adapter '") + PARHELION_TEST_DATA + "/model/peft_tiny' ";
  const std::string rest = " --dtype f32 --threads 1 --json <<< 'The sun rises over the ice.'";
  const Outcome score = run("score " + tiny() + adapter + rest);
  ASSERT_EQ(score.code, 0) << score.output;
  EXPECT_NE(score.output, run("score " + tiny() + rest).output);
  EXPECT_EQ(score.output, run("score " + tiny() + adapter + "--through chunks=3" + rest).output);
  EXPECT_EQ(run("export " + tiny() + out + " --adapter-only " + adapter).output,
            out + ": an adapter of 6 modules as f32\n");
  EXPECT_EQ(score.output, run("score " + tiny() + "--adapter " + out + rest).output);
  std::filesystem::remove_all(out);
  EXPECT_EQ(run("export " + tiny() + out + " " + adapter).output,
            out + ": 20 parameter tensors as f32, the adapter merged\n");
  EXPECT_EQ(run("score " + out + rest).code, 0);
  std::filesystem::remove_all(out);
}

TEST(Command, VersionAndHelpSucceed) {
  EXPECT_THAT(run("--version").output, HasSubstr("parhelion 0."));
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"generate", "score", "tokenize", "explain", "export"})
    EXPECT_THAT(help.output, HasSubstr(command));
}

/// A command line that a user may get wrong, and what the answer must say.
struct BadInput {
  std::string arguments;
  std::string message;
};

class CommandRefuses : public testing::TestWithParam<BadInput> {};

TEST_P(CommandRefuses, WithCodeTwoAndTheReason) {
  const Outcome outcome = run(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, CommandRefuses,
    testing::Values(
        BadInput{"generate /none --prompt x", "/none: is missing"},
        BadInput{"generate " + tiny(), "prompt"},
        BadInput{"generate " + tiny() + "--prompt x --chat y", "prompt"},
        BadInput{"generate " + tiny() + "--prompt ''",
                 "prompt: is empty, expected at least one token"},
        BadInput{"generate " + tiny() + "--prompt x --temperature -3",
                 "temperature: is -3, expected 0 to"},
        BadInput{"generate " + tiny() + "--prompt x --dtype f8", "--dtype"},
        BadInput{"generate " + tiny() + "--prompt x --threads 0", "--threads"},
        BadInput{"generate " + tiny() + "--prompt \"$(printf 'a\\377b')\"", "UTF-8"},
        BadInput{"generate " + tiny() + "--prompt \"$(seq -s ' ' 2000)\"", "the context holds 512"},
        BadInput{"score " + tiny() + "--ids-file /dev/null", "expected at least 2"},
        BadInput{"score " + tiny() + "--ids-file <(echo 1 x)", "'x' is no token id"},
        BadInput{"score " + tiny() + "--through sideways < /dev/null", "--through: is 'sideways'"},
        BadInput{"tokenize " + tiny() + "--decode <<< '999999'", "999999"},
        BadInput{"export /none " + testing::TempDir() + "/x", "/none: is missing"},
        BadInput{"score " + tiny() + "--adapter /none <<< 'a b'", "/none/adapter_config.json"},
        BadInput{"export " + tiny() + testing::TempDir() + "/x --adapter-only",
                 "has no adapter that could be exported alone"},
        BadInput{"export " + tiny(), "DIRECTORY"}, BadInput{"tokenize /dev/null", "/dev/null"},
        BadInput{"fly", ""}, BadInput{"", "subcommand"}));

}  // namespace
}  // namespace parhelion::app
