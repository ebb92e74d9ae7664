#include "serve/step_choice.h"

#include "support/capacities.h"

#include <gtest/gtest.h>

namespace parhelion::serve {
namespace {

class StepChoice : public testing::Test {
 protected:
  /// Rows of these numbers of new tokens, with one query each.
  std::vector<StepRow> rows_of(const std::vector<std::size_t>& tokens) const {
    std::vector<StepRow> rows;
    for (const std::size_t count : tokens) {
      rows.push_back({.tokens = std::span(ids_).first(count),
                      .position = 0,
                      .pages = {},
                      .queries = std::span(queries_).first(1)});
    }
    return rows;
  }
  std::optional<std::size_t> choice_of(const std::vector<std::size_t>& tokens) const {
    return covering_instance(instances_, rows_of(tokens));
  }

  std::vector<std::int32_t> ids_ = std::vector<std::int32_t>(64, 1);
  std::vector<LogitQuery> queries_ = std::vector<LogitQuery>(64);
  InstanceSet instances_ = {
      .catalogue = {test::step_capacities(1, 1, 1), test::step_capacities(8, 8, 8),
                    test::step_capacities(16, 4, 4), test::step_capacities(64, 8, 8)},
      .edits = {0, 2, 2, 5},
      .plans = {}};
};

TEST_F(StepChoice, TakesTheFirstInstanceThatHoldsTokensRowsAndQueries) {
  EXPECT_EQ(choice_of({1}), 0u);
  EXPECT_EQ(choice_of({1, 1, 1}), 1u);
  EXPECT_EQ(choice_of({3, 1}), 2u);
  EXPECT_EQ(choice_of({3, 1, 1, 1, 1}), 3u);
  EXPECT_EQ(choice_of({64, 1}), std::nullopt);
  std::vector<StepRow> asking = rows_of({16});
  asking[0].queries = std::span(queries_).first(5);
  EXPECT_EQ(covering_instance(instances_, asking), 3u);
}

TEST_F(StepChoice, DecodesOnlyRowsOfOneToken) {
  EXPECT_EQ(choice_of({5}), 2u);
  EXPECT_EQ(choice_of({1, 2, 1}), 2u);
  EXPECT_EQ(choice_of({1, 0, 1}), 2u);
  InstanceSet decode;
  decode.catalogue = {test::step_capacities(8, 8, 8)};
  decode.edits = {0};
  EXPECT_EQ(covering_instance(decode, rows_of({2, 1})), std::nullopt);
}

TEST_F(StepChoice, HasRoomForEdits) {
  const LogitEditsView edits{
      .ids = std::span(ids_).first(3), .bias = {}, .scale = {}, .subtract = {}, .mask = {}};
  queries_[0].edits = &edits;
  EXPECT_EQ(choice_of({1}), 3u);
}

TEST_F(StepChoice, GivesARowOneTokenOfADecodeInstance) {
  EXPECT_EQ(most_row_tokens(test::step_capacities(8, 8, 8)), 1);
  EXPECT_EQ(most_row_tokens(test::step_capacities(8, 1, 8)), 8);
  EXPECT_EQ(most_row_tokens(test::step_capacities(1, 1, 1)), 1);
}

}  // namespace
}  // namespace parhelion::serve
