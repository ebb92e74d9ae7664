#include "base/bf16.h"
#include "train/loop/loop_support.h"
#include "train/optim/update_program.h"

#include <gtest/gtest.h>

#include <cstring>

namespace parhelion::train {
namespace {

class MasterWeights : public DataFiles {
 protected:
  static Job job() {
    Job job = tiny_job();
    job.model.dtype = NumberFormat::bf16;
    job.optimizer.master_weights = true;
    return job;
  }
  std::shared_ptr<const Documents> documents() const { return documents_of({20, 35, 9, 50}); }
};

template <class T>
std::vector<T> elements(const std::vector<std::byte>& bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

std::vector<BFloat16> rounded_master(const std::vector<std::byte>& master) {
  std::vector<BFloat16> result;
  for (const float each : elements<float>(master)) result.push_back(to_bfloat16(each));
  return result;
}

std::vector<float> widened(const std::vector<std::byte>& parameter) {
  std::vector<float> result;
  for (const BFloat16 each : elements<BFloat16>(parameter)) result.push_back(to_float(each));
  return result;
}

TEST_F(MasterWeights, BeginAsTheParametersAre) {
  Job still = job();
  still.optimizer.groups = {{".*", 0.0, std::nullopt}};
  TinyRun run(still, documents(), directory_ / "run");
  const auto before = run.content();
  run.run();
  const auto after = run.content();
  for (const ir::Buffer& parameter : saved_parameter_buffers(run.programs.step)) {
    EXPECT_EQ(after.at(parameter.name), before.at(parameter.name)) << parameter.name;
    EXPECT_EQ(elements<float>(after.at(master_name(parameter.name))),
              widened(before.at(parameter.name)));
  }
}

TEST_F(MasterWeights, AreWhatParametersAreRoundedFrom) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd}) {
    Job moved = job();
    moved.optimizer.kind = kind;
    TinyRun run(moved, documents(), directory_ / choice_name(kind));
    const auto before = run.content();
    run.run();
    const auto after = run.content();
    for (const ir::Buffer& parameter : saved_parameter_buffers(run.programs.step)) {
      const std::vector<std::byte>& master = after.at(master_name(parameter.name));
      EXPECT_EQ(rounded_master(master), elements<BFloat16>(after.at(parameter.name)));
      EXPECT_NE(elements<float>(master), widened(before.at(parameter.name))) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace parhelion::train
