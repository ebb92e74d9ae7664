#include "train/loop/job_digest.h"

#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

TEST(JobDigest, NamesTheKeysThatChangeIt) {
  Job before, now;
  now.data.sequence_tokens = 64;
  now.lora = LoraSettings{.rank = 4};
  now.optimizer.amsgrad = true;
  now.optimizer.master_weights = true;
  EXPECT_EQ(describe_job_change(write_job(before), now),
            "data.sequence_tokens: 0 -> 64; lora.alpha: absent -> 16.0; lora.dropout: absent -> "
            "0.0; lora.rank: absent -> 4; lora.targets: absent -> "
            R"(".*\\.(q|k|v|o|gate|up|down)_proj"; optimizer.amsgrad: false -> true; )"
            "optimizer.master_weights: false -> true");
}

TEST(JobDigest, NamesContentsWhereKeysThatMatterAreTheSame) {
  Job before, now;
  now.optimizer.lr = 1;
  now.schedule.steps = 9;
  now.data.epochs = 7;
  now.data.cache = "elsewhere";
  now.model.recompute = Recompute::automatic;
  now.model.memory_budget = "1GiB";
  EXPECT_EQ(describe_job_change(write_job(before), now),
            "its keys are the same, so what data, model or tokenizer hold changed");
}

}  // namespace
}  // namespace parhelion::train
