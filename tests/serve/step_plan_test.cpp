#include "serve/step_plan.h"

#include "support/capacities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace parhelion::serve {
namespace {

using testing::ElementsAre;

class StepPlan : public testing::Test {
 protected:
  Sequence& add(Request request) {
    auto sequence = std::make_unique<Sequence>();
    sequence->of = std::make_shared<RequestState>();
    sequence->of->request = std::move(request);
    sequence->tokens = sequence->of->request.prompt;
    sequence->most_tokens = 64;
    sequence->arrival = order_.size() + 1;
    order_.push_back(sequence.get());
    sequences_.push_back(std::move(sequence));
    return *order_.back();
  }

  /// One that decodes, with so many edits.
  void add_edited(std::size_t edits) {
    contract::Contract contract;
    contract.vocabulary = 64;
    contract.cache.context_tokens = 64;
    Sequence& sequence = add({.prompt = {1, 2}, .max_tokens = 30});
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(edits); ++id)
      sequence.of->request.logit_bias.emplace_back(id, 1.0f);
    sequence.launched = sequence.consumed = 1;
    sequence.edits = std::make_unique<LogitEdits>(contract, sequence.of->request);
  }

  static std::vector<std::int32_t> prompt_of(std::size_t count) {
    return std::vector<std::int32_t>(count, 1);
  }

  /// Arrivals of those that have a part in the next step, which is then done.
  std::vector<std::uint64_t> next_step(const InstanceSet& instances, std::int64_t budget) {
    std::vector<Part> parts;
    turns_ = plan_parts(order_, StepKind::plain, instances, budget, turns_, parts);
    std::vector<std::uint64_t> result;
    for (const Part& part : parts) {
      result.push_back(part.sequence->arrival);
      if (part.sequence->edits == nullptr) part.sequence->launched += part.tokens;
      part.sequence->reported += part.scored;
    }
    return result;
  }

  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> order_;
  Turns turns_;
};

TEST_F(StepPlan, ThoseWhoseEditsHaveNoRoomGoFirstInTheNextStep) {
  const InstanceSet instances{
      .catalogue = {test::step_capacities(8, 8, 8)}, .edits = {10}, .plans = {}};
  for (int i = 0; i < 3; ++i) add_edited(4);
  EXPECT_THAT(next_step(instances, 8), ElementsAre(1, 2));
  EXPECT_THAT(next_step(instances, 8), ElementsAre(3, 1));
  EXPECT_THAT(next_step(instances, 8), ElementsAre(2, 3));
}

TEST_F(StepPlan, ASequenceTakesRoomForTheIdsThatItNamesNow) {
  const InstanceSet instances{
      .catalogue = {test::step_capacities(8, 8, 8)}, .edits = {10}, .plans = {}};
  contract::Contract contract;
  contract.vocabulary = 64;
  contract.cache.context_tokens = 64;
  for (int i = 0; i < 4; ++i) {
    Sequence& sequence = add({.prompt = {1, 2}, .max_tokens = 9, .presence_penalty = 1.0});
    sequence.launched = sequence.consumed = 1;
    sequence.edits = std::make_unique<LogitEdits>(contract, sequence.of->request);
    EXPECT_EQ(sequence.edits->most_ids(), 9);
    sequence.edits->note_drawn(5);
  }
  EXPECT_EQ(next_step(instances, 8).size(), 4u);
}

TEST_F(StepPlan, PromptsThatAreScoredAndOthersBeginByTurns) {
  const InstanceSet instances{
      .catalogue = {test::step_capacities(8, 4, 8), test::step_capacities(32, 4, 4)},
      .edits = {0, 0},
      .plans = {}};
  add({.prompt = prompt_of(40), .max_tokens = 1, .prompt_log_probabilities = true});
  add({.prompt = prompt_of(60), .max_tokens = 1});
  EXPECT_THAT(next_step(instances, 32), ElementsAre(2));
  EXPECT_THAT(next_step(instances, 32), ElementsAre(1));
  EXPECT_EQ(order_[0]->launched, 8);
  EXPECT_EQ(order_[1]->launched, 32);
  EXPECT_EQ(next_step(instances, 32).front(), 2u);
  EXPECT_EQ(order_[1]->launched, 60);
  EXPECT_EQ(next_step(instances, 32).front(), 1u);  // nobody else waits
}

TEST_F(StepPlan, DecodesBeforeItGoesOnWithPrompts) {
  const InstanceSet instances{
      .catalogue = {test::step_capacities(8, 4, 4)}, .edits = {0}, .plans = {}};
  add({.prompt = prompt_of(20), .max_tokens = 1});
  add({.prompt = prompt_of(5), .max_tokens = 1}).launched = 4;
  EXPECT_THAT(next_step(instances, 8), ElementsAre(2, 1));
  EXPECT_EQ(order_[0]->launched, 7);
}

}  // namespace
}  // namespace parhelion::serve
