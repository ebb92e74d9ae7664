#include "train/config/job.h"

#include "base/error.h"
#include "base/override_setting.h"
#include "base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::string_view kSmallestJob = R"(
[run]
directory = "runs/a"
[model]
path = "model"
[data]
files = ["a.txt"]
sequence_tokens = 8
[optimizer]
lr = 1e-3
)";

Job job_with(const std::vector<std::string>& assignments) {
  Json json = parse_toml(kSmallestJob, "smallest");
  for (const std::string& assignment : assignments) json = override_setting(json, assignment);
  return read_job(json, "/jobs", "job");
}

TEST(Job, HasTheDefaultsOfTheReference) {
  Job expected;
  expected.run = {.directory = "/jobs/runs/a"};
  expected.model.path = "/jobs/model";
  expected.model.recompute = Recompute::none;
  expected.data.files = {"/jobs/a.txt"};
  expected.data.sequence_tokens = 8;
  expected.data.microbatch_tokens = 8;
  expected.data.buckets = {8};
  expected.data.cache = "/jobs/runs/a/cache";
  expected.optimizer.lr = 1e-3;
  EXPECT_EQ(job_with({}), expected);

  EXPECT_EQ(
      write_json(write_job(job_with({}))),
      R"({"run":{"directory":"/jobs/runs/a","seed":0,"device":"cpu","numerics":"exact",)"
      R"("threads":0},)"
      R"("model":{"path":"/jobs/model","dtype":"f32","recompute":"none"},)"
      R"("data":{"files":["/jobs/a.txt"],"format":"auto","on_error":"stop",)"
      R"("sequence_tokens":8,"microbatch_tokens":8,"microbatches":1,"buckets":[8],)"
      R"("packing":"concatenate","long_documents":"split","shuffle":true,"epochs":1,)"
      R"("cache":"/jobs/runs/a/cache","prefetch":2},)"
      R"("optimizer":{"kind":"adamw","lr":0.001,"beta1":0.9,"beta2":0.999,"eps":1e-08,)"
      R"("weight_decay":0.01,"momentum":0.0,"dampening":0.0,"nesterov":false,)"
      R"("amsgrad":false,"moments":"f32","master_weights":false,"max_norm":1.0,"on_nonfinite":"stop","groups":[]},)"
      R"("schedule":{"steps":0,"initial":1.0,"phases":[]},)"
      R"("checkpoint":{"every":0,"keep":2},"log":{"every":1,"tensorboard":true}})");
}

TEST(Job, HasTablesThatAreGivenWithTheirDefaults) {
  const Job job = job_with({"lora={}", "evaluation={every = 5, prompts = ['a']}",
                            "optimizer.groups=[{match = '.*bias'}]",
                            "schedule.phases=[{steps = 3, target = 0.5}]"});
  EXPECT_EQ(job.lora, (LoraSettings{8, 16.0, 0.0, R"(.*\.(q|k|v|o|gate|up|down)_proj)"}));
  EXPECT_EQ(job.evaluation, (EvaluationSettings{{}, 5, 0, {"a"}, {}, 64}));
  EXPECT_EQ(job.optimizer.groups, (std::vector<OptimizerGroup>{{".*bias", 1.0, std::nullopt}}));
  EXPECT_EQ(job.schedule.phases,
            (std::vector<PhaseSettings>{{3, std::nullopt, false, 0.5, Curve::linear, 2.0}}));
}

TEST(Job, RecomputesAsABudgetAsksFor) {
  const Job job = job_with({"model.memory_budget=8GiB"});
  EXPECT_EQ(job.model.recompute, Recompute::automatic);
  EXPECT_EQ(read_job(write_job(job), "/elsewhere", "job.json"), job);
}

TEST(Job, ReadsBackWhatItWrites) {
  const Job job = job_with(
      {"lora.targets=.*q_proj", "evaluation={files = ['e.jsonl'], every = 5, chats = ['Why?']}",
       "optimizer.kind=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true",
       "optimizer.groups=[{match = 'a', weight_decay = 0.5}, {match = 'b', lr_scale = 2}]",
       "schedule.phases=[{until = 0.1, target = 1}, {rest = true, target = 0, curve = 'cosine'}]",
       "data.microbatch_tokens=32", "data.buckets=[8, 32]", "data.packing=fit", "model.dtype=bf16",
       "optimizer.master_weights=true"});
  const Json written = write_job(job);
  EXPECT_EQ(read_job(written, "/elsewhere", "job.json"), job);
  EXPECT_EQ(read_job(parse_json(write_json(written), "text"), "/elsewhere", "job.json"), job);
}

TEST(Job, WritesWholePaths) {
  Job job = job_with({});
  job.run.directory = "run";
  EXPECT_EQ(*write_job(job).find("run")->find("directory"),
            Json((std::filesystem::current_path() / "run").string()));
}

TEST(Job, TellsAllWrongKeysAndTypesAtOnce) {
  EXPECT_THAT(
      [] {
        job_with({"optimizer.lrr=1", "data.epochs=0.5", "schedule.phases=[{}]", "dta=1"});
      },
      ThrowsMessage<Error>(StrEq("job: unknown key 'dta', did you mean 'data'?\n"
                                 "job: data.epochs: is 0.5, expected an integer\n"
                                 "job: unknown key 'optimizer.lrr', did you mean 'lr'?\n"
                                 "job: missing key 'schedule.phases.0.target'")));
}

TEST(Job, NamesEachKeyThatIsMissing) {
  EXPECT_THAT([] { read_job(Json(Json::Object{}), "/", "job"); },
              ThrowsMessage<Error>(StrEq("job: missing key 'run.directory'\n"
                                         "job: missing key 'data.files'\n"
                                         "job: missing key 'data.sequence_tokens'\n"
                                         "job: missing key 'optimizer.lr'")));
}

TEST(Job, TellsAllWrongValuesAtOnce) {
  EXPECT_THAT(
      [] {
        job_with({"optimizer.lr=0", "log.every=0", "run.threads=-1"});
      },
      ThrowsMessage<Error>(StrEq("job: run.threads is -1, expected at least 0\n"
                                 "job: optimizer.lr is 0, expected a number above 0\n"
                                 "job: log.every is 0, expected at least 1")));
}

struct WrongJob {
  std::vector<std::string> assignments;
  std::string message;
};

class JobCheck : public testing::TestWithParam<WrongJob> {};

TEST_P(JobCheck, NamesKeyAndValue) {
  EXPECT_THAT([] { job_with(GetParam().assignments); },
              ThrowsMessage<Error>(StrEq("job: " + GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    RunAndModel, JobCheck,
    testing::ValuesIn(std::vector<WrongJob>{
        {{"run.directory="}, "run.directory is empty, expected a path"},
        {{"run.seed=-1"}, "run.seed is -1, expected at least 0"},
        {{"model={}"},
         "expected model.path, to begin from its weights, or model.config, to begin with random "
         "ones"},
        {{"model.config=c.json"},
         "model.path is '/jobs/model' and model.config is '/jobs/c.json', expected one of them"},
        {{"model={config = 'c.json'}"}, "model.config is '/jobs/c.json', expected model.tokenizer"},
        {{"model.tokenizer=t"},
         "model.tokenizer is '/jobs/t', but model.path '/jobs/model' has one of its own"},
        {{"model.dtype=f16"}, "model.dtype: is \"f16\", expected one of f32, bf16"},
        {{"model.recompute=auto"}, "model.recompute is auto, expected model.memory_budget"},
        {{"model.recompute=layer", "model.memory_budget=1GiB"},
         "model.memory_budget is 1GiB, which recompute layer does not use"},
        {{"model.memory_budget=lots"},
         "model.memory_budget is 'lots', expected bytes such as 8GiB or 512MiB"},
        {{"lora.rank=0"}, "lora.rank is 0, expected at least 1"},
        {{"lora.alpha=0"}, "lora.alpha is 0, expected a number above 0"},
        {{"lora.dropout=1"}, "lora.dropout is 1, expected a number in [0, 1)"},
        {{"lora={}", "model={config = 'c.json', tokenizer = 't'}"},
         "lora is given with model.config, expected model.path: the weights under an adapter are "
         "not saved, so they have to lie somewhere"},
    }));

INSTANTIATE_TEST_SUITE_P(
    Data, JobCheck,
    testing::ValuesIn(std::vector<WrongJob>{
        {{"data.files=[]"}, "data.files is empty, expected one file or more"},
        {{"data.weights=[1, 2]"}, "data.weights has 2 numbers for 1 data.files"},
        {{"data.weights=[-1]"}, "data.weights.0 is -1, expected a number of at least 0"},
        {{"data.sequence_tokens=1"}, "data.sequence_tokens is 1, expected at least 2"},
        {{"data.microbatch_tokens=7"},
         "data.microbatch_tokens is 7, expected at least data.sequence_tokens, 8"},
        {{"data.buckets=[4, 4, 8]"}, "data.buckets is [4, 4, 8], expected it ascending"},
        {{"data.buckets=[2, 4]"}, "data.buckets ends with 4, expected data.microbatch_tokens, 8"},
        {{"data.buckets=[0, 8]"}, "data.buckets.0 is 0, expected at least 1"},
        {{"data.microbatches=0"}, "data.microbatches is 0, expected at least 1"},
        {{"data.epochs=-1"}, "data.epochs is -1, expected at least 0"},
        {{"data.epochs=0"}, "data.epochs and schedule.steps are both 0, expected an end"},
        {{"data.prefetch=-1"}, "data.prefetch is -1, expected at least 0"},
        {{"evaluation.every=1"}, "evaluation has neither files nor prompts nor chats"},
        {{"evaluation={every = 0, prompts = ['a']}"}, "evaluation.every is 0, expected at least 1"},
        {{"evaluation={every = 1, prompts = ['a'], microbatches = -1}"},
         "evaluation.microbatches is -1, expected at least 0"},
        {{"evaluation={every = 1, prompts = ['a'], max_tokens = 0}"},
         "evaluation.max_tokens is 0, expected at least 1"},
    }));

INSTANTIATE_TEST_SUITE_P(
    Optimizer, JobCheck,
    testing::ValuesIn(std::vector<WrongJob>{
        {{"optimizer.lr=-1"}, "optimizer.lr is -1, expected a number above 0"},
        {{"optimizer.beta1=1"}, "optimizer.beta1 is 1, expected a number in [0, 1)"},
        {{"optimizer.beta2=-0.5"}, "optimizer.beta2 is -0.5, expected a number in [0, 1)"},
        {{"optimizer.eps=0"}, "optimizer.eps is 0, expected a number above 0"},
        {{"optimizer.weight_decay=-1"},
         "optimizer.weight_decay is -1, expected a number of at least 0"},
        {{"optimizer.max_norm=-1"}, "optimizer.max_norm is -1, expected a number of at least 0"},
        {{"optimizer.kind=sgd", "optimizer.momentum=1"},
         "optimizer.momentum is 1, expected a number in [0, 1)"},
        {{"optimizer.kind=sgd", "optimizer.dampening=2"},
         "optimizer.dampening is 2, expected a number in [0, 1]"},
        {{"optimizer.kind=sgd", "optimizer.nesterov=true"},
         "optimizer.nesterov is true with momentum 0 and dampening 0, expected momentum above 0 "
         "and "
         "dampening 0"},
        {{"optimizer.kind=sgd", "optimizer.nesterov=true", "optimizer.momentum=0.5",
          "optimizer.dampening=0.1"},
         "optimizer.nesterov is true with momentum 0.5 and dampening 0.1, expected momentum above "
         "0 "
         "and dampening 0"},
        {{"optimizer.kind=sgd", "optimizer.beta1=0.5"},
         "optimizer.beta1 is 0.5, which kind sgd does not use"},
        {{"optimizer.kind=sgd", "optimizer.beta2=0.5"},
         "optimizer.beta2 is 0.5, which kind sgd does not use"},
        {{"optimizer.kind=sgd", "optimizer.eps=0.5"},
         "optimizer.eps is 0.5, which kind sgd does not use"},
        {{"optimizer.kind=sgd", "optimizer.amsgrad=true"},
         "optimizer.amsgrad is true, which kind sgd does not use"},
        {{"optimizer.master_weights=true"},
         "optimizer.master_weights is true, which model.dtype f32 does not use"},
        {{"optimizer.kind=adam", "optimizer.momentum=0.5"},
         "optimizer.momentum is 0.5, which kind adam does not use"},
        {{"optimizer.dampening=0.5"}, "optimizer.dampening is 0.5, which kind adamw does not use"},
        {{"optimizer.groups=[{match = 'a', lr_scale = -1}]"},
         "optimizer.groups.0.lr_scale is -1, expected a number of at least 0"},
        {{"optimizer.groups=[{match = 'a'}, {match = 'a', weight_decay = -1}]"},
         "optimizer.groups.1.weight_decay is -1, expected a number of at least 0"},
    }));

INSTANTIATE_TEST_SUITE_P(
    ScheduleAndOutput, JobCheck,
    testing::ValuesIn(std::vector<WrongJob>{
        {{"schedule.steps=-1"}, "schedule.steps is -1, expected at least 0"},
        {{"schedule.initial=-1"}, "schedule.initial is -1, expected a number of at least 0"},
        {{"schedule.phases=[{target = 1}]"},
         "schedule.phases.0 has 0 of steps, until and rest, expected one"},
        {{"schedule.phases=[{steps = 1, until = 0.5, target = 1}]"},
         "schedule.phases.0 has 2 of steps, until and rest, expected one"},
        {{"schedule.phases=[{steps = 0, target = 1}]"},
         "schedule.phases.0.steps is 0, expected at least 1"},
        {{"schedule.phases=[{until = 1.5, target = 1}]"},
         "schedule.phases.0.until is 1.5, expected a number in [0, 1]"},
        {{"schedule.phases=[{rest = true, target = -1}]"},
         "schedule.phases.0.target is -1, expected a number of at least 0"},
        {{"schedule.phases=[{rest = true, target = 1, curve = 'poly', power = 0}]"},
         "schedule.phases.0.power is 0, expected a number above 0"},
        {{"schedule.phases=[{rest = true, target = 1, curve = 'cosine', power = 3}]"},
         "schedule.phases.0.power is 3, which curve cosine does not use"},
        {{"schedule.phases=[{rest = true, target = 1}, {steps = 1, target = 0}]"},
         "schedule.phases.0 takes the rest, expected no phase behind it"},
        {{"checkpoint.every=-1"}, "checkpoint.every is -1, expected at least 0"},
        {{"checkpoint.keep=-1"}, "checkpoint.keep is -1, expected at least 0"},
        {{"log.every=0"}, "log.every is 0, expected at least 1"},
    }));

TEST(Job, RefusesPatternsThatAreNone) {
  EXPECT_THAT([] { job_with({"lora.targets=a)(b"}); },
              ThrowsMessage<Error>(StartsWith("job: lora.targets: regex 'a)(b': ")));
  EXPECT_THAT([] { job_with({"optimizer.groups=[{match = 'a'}, {match = '['}]"}); },
              ThrowsMessage<Error>(StartsWith("job: optimizer.groups.1.match: regex '[': ")));
}

TEST(Job, OpensAFileWithOverrides) {
  const std::filesystem::path directory = testing::TempDir() + "/job_test";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "job.toml") << kSmallestJob;
  const std::vector<std::string> overrides = {"data.files.0=../b.txt", "optimizer.lr=2"};
  const Job job = open_job(directory / "job.toml", overrides);
  EXPECT_EQ(job.run.directory, directory / "runs/a");
  EXPECT_EQ(job.data.files.front(), std::filesystem::path(testing::TempDir()) / "b.txt");
  EXPECT_EQ(job.optimizer.lr, 2.0);
}

TEST(Job, NamesTheFileInErrors) {
  const std::string file = testing::TempDir() + "/wrong_job.toml";
  std::ofstream(file) << "[run]\ndirectory = ";
  EXPECT_THAT([&] { open_job(file, {}); }, ThrowsMessage<Error>(StartsWith(file + ":2:")));
  std::ofstream(file) << "[rum]";
  EXPECT_THAT([&] { open_job(file, {}); },
              ThrowsMessage<Error>(StartsWith(file + ": unknown key 'rum', did you mean 'run'?")));
}

TEST(Job, DescribesEachKey) {
  const std::string reference = describe_job();
  EXPECT_THAT(reference, StartsWith("[run]: where the run lives and what it computes on\n"
                                    "run.directory  path, required: directory of the run"));
  EXPECT_THAT(reference, HasSubstr("\noptimizer.beta1  number, default 0.9: adam and adamw"));
  EXPECT_THAT(reference, HasSubstr("\n[lora]  optional: if given"));
  EXPECT_THAT(reference, HasSubstr("\n[[optimizer.groups]]: parameters with another"));
  EXPECT_THAT(reference, HasSubstr("\noptimizer.groups.weight_decay  number, optional: "));
  EXPECT_THAT(
      reference,
      HasSubstr("\ndata.packing  one of concatenate, fit, none, default \"concatenate\": "));
}

}  // namespace
}  // namespace parhelion::train
