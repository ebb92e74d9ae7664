#include "model/extend_run.h"

#include <gmock/gmock.h>

#include <set>
#include <span>

namespace parhelion::model {
namespace {

using testing::ElementsAre;

const std::vector<std::int32_t> kPrompt0 = {3, 141, 59, 26, 53}, kPrompt1 = {58, 97, 9};

/// Both prompts, then steps of one token a row. `fed`: the host never says what was drawn.
std::vector<RunDraws> decode(ExtendRun& run, bool fed) {
  std::vector<RunDraws> draws;
  draws.push_back(run.extend(
      {{.ids = kPrompt0, .slot = 2, .pages = {1}}, {.ids = kPrompt1, .slot = 0, .pages = {2}}}));
  for (std::int64_t step = 0; step < 8; ++step) {
    const std::vector<std::int32_t>& last = draws.back().ids;
    RunRow row0{.ids = {last[0]}, .slot = 2, .position = 5 + step, .pages = {1}};
    RunRow row1{.ids = {last[1]}, .slot = 0, .position = 3 + step, .pages = {2}};
    if (fed) {
      row0.ids = row1.ids = {77};
      row0.source = 2;
      row1.source = 0;
    }
    draws.push_back(run.extend({row0, row1}));
  }
  return draws;
}

TEST(ExtendRun, FedTokensGiveTheBitsOfTokensFromTheHost) {
  ExtendRun run;
  const std::vector<RunDraws> from_host = decode(run, false);
  EXPECT_EQ(decode(run, true), from_host);
  std::set<std::int32_t> ids;
  for (const RunDraws& step : from_host) ids.insert(step.ids.begin(), step.ids.end());
  EXPECT_GT(ids.size(), 5u) << "draws differ from step to step";
}

TEST(ExtendRun, RowsMayChangePlacesBetweenSteps) {
  ExtendRun run;
  const std::vector<RunDraws> kept = decode(run, false);
  run.extend(
      {{.ids = kPrompt0, .slot = 2, .pages = {1}}, {.ids = kPrompt1, .slot = 0, .pages = {2}}});
  const RunDraws alone = run.extend({{.ids = {77}, .source = 2, .position = 5, .pages = {1}}});
  EXPECT_EQ(alone.ids[0], kept[1].ids[0]);
  EXPECT_EQ(alone.log_probability[0], kept[1].log_probability[0]);
}

TEST(ExtendRun, EditsOfNothingKeepEveryBit) {
  ExtendRun run;
  const std::vector<RunRow> rows = {{.ids = kPrompt0, .pages = {1}},
                                    {.ids = kPrompt1, .pages = {2}}};
  EXPECT_EQ(run.extend_edited(rows), run.extend(rows));
}

TEST(ExtendRun, DrawsFromEditedLogitsAndTellsOfTheModels) {
  ExtendRun run;
  const std::vector<RunRow> rows = {{.ids = {31}, .slot = 1, .pages = {1}},
                                    {.ids = {41}, .slot = 3, .pages = {2}}};
  run.extend_edited(rows);
  const auto plain_top = run.output<std::int32_t>("top_ids");
  const auto plain_values = run.output<float>("top_log_probability");
  // Row 0 may draw its third token alone; row 1 gets its second by a bias.
  const std::int32_t third = plain_top[2], second = plain_top[kTopLogProbabilities + 1];
  const auto mask = run.edit_input<std::int32_t>("token_mask");
  std::fill_n(mask.begin(), 5, 0);
  mask[static_cast<std::size_t>(third / 32)] = std::bit_cast<std::int32_t>(1u << (third % 32));
  const auto indptr = run.edit_input<std::int32_t>("edit_indptr");
  indptr[2] = 1;
  run.edit_input<std::int32_t>("edit_ids")[0] = second;
  run.edit_input<float>("edit_bias")[0] = 1000;
  run.edit_input<float>("edit_scale")[0] = 1;
  const RunDraws draws = run.extend_edited(rows);
  EXPECT_THAT(draws.ids, ElementsAre(third, second));
  EXPECT_THAT(draws.log_probability,
              ElementsAre(plain_values[2], plain_values[kTopLogProbabilities + 1]));
  EXPECT_EQ(run.output<std::int32_t>("top_ids"), plain_top);
  EXPECT_EQ(run.output<float>("top_log_probability"), plain_values);
}

TEST(ExtendRun, AMaskWithoutAnyTokenDrawsNone) {
  ExtendRun run;
  std::ranges::fill(run.edit_input<std::int32_t>("token_mask"), 0);
  const RunDraws draws = run.extend_edited({{.ids = {31}, .slot = 1, .pages = {1}}});
  EXPECT_EQ(draws.ids[0], -1);
  EXPECT_EQ(draws.log_probability[0], 0.0f);
}

TEST(ExtendRun, CopiedPagesAreReadAsTheirSources) {
  ExtendRun run;
  std::vector<std::int32_t> prompt(20);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(7 * i);
  run.extend({{.ids = prompt, .pages = {1, 2}}});
  const std::vector<RunRow> next = {{.ids = {99}, .position = 20, .pages = {1, 2}}};
  run.copy({2, -1, 1}, {6, 3, 7});
  const RunDraws original = run.extend(next);
  const RunDraws copied = run.extend({{.ids = {99}, .position = 20, .pages = {7, 6}}});
  EXPECT_EQ(copied.ids[0], original.ids[0]);
  EXPECT_EQ(copied.log_probability[0], original.log_probability[0]);
  const RunDraws other = run.extend({{.ids = {99}, .position = 20, .pages = {3, 4}}});
  EXPECT_NE(other.log_probability[0], original.log_probability[0]);
}

}  // namespace
}  // namespace parhelion::model
