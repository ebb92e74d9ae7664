#include "serve/step_budget.h"

#include "support/capacities.h"

#include <gtest/gtest.h>

#include <vector>

namespace parhelion::serve {
namespace {

using Seconds = StepBudget::Seconds;

ir::Capacities budget_instance(std::int64_t tokens, std::int64_t rows) {
  return test::step_capacities(tokens, rows, rows);
}

class StepBudgetTest : public testing::Test {
 protected:
  const std::vector<ir::Capacities> catalogue_ = {budget_instance(16, 16), budget_instance(64, 16),
                                                  budget_instance(256, 16),
                                                  budget_instance(512, 16)};
  StepBudget budget_{catalogue_, Seconds(0.25)};
};

TEST_F(StepBudgetTest, TakesTheLongestInstanceWithinTheTarget) {
  budget_.learn(0, Seconds(0.03));
  budget_.learn(2, Seconds(0.2));
  budget_.learn(3, Seconds(0.4));
  EXPECT_EQ(budget_.tokens(16), 256);
  EXPECT_EQ(budget_.tokens(0), 512);
}

TEST_F(StepBudgetTest, APauseDoesNotKeepAnInstanceOutForGood) {
  budget_.learn(1, Seconds(0.06));
  budget_.learn(2, Seconds(5));
  EXPECT_EQ(budget_.expected(2), Seconds(0.24));
  EXPECT_EQ(budget_.tokens(8), 256);
}

TEST_F(StepBudgetTest, WhereDecodingTakesLongPromptsHaveTwoThirdsOfTheTime) {
  budget_.learn(0, Seconds(0.2));
  budget_.learn(1, Seconds(0.35));
  budget_.learn(2, Seconds(0.55));
  budget_.learn(3, Seconds(1));
  EXPECT_EQ(budget_.tokens(12), 256);
}

TEST_F(StepBudgetTest, GivesPromptsTwoFifthsWhateverItTakes) {
  for (std::size_t i = 1; i < 4; ++i) budget_.learn(i, Seconds(10));
  EXPECT_EQ(budget_.tokens(16), 64);
}

}  // namespace
}  // namespace parhelion::serve
