#include "train/track/loss_curve.h"

#include "base/error.h"
#include "train/track/jsonl_tracker.h"
#include "train/track/plot_axis.h"
#include "train/track/tracker_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace parhelion::train {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;
using testing::ThrowsMessage;

std::int64_t count_of(const std::string& text, std::string_view part) {
  std::int64_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

auto are(const std::vector<double>& values) { return Pointwise(DoubleNear(1e-9), values); }

TEST(PlotAxis, EndsAtMarksAroundTheValues) {
  const PlotAxis axis = outer_axis(1.93, 10.8, 6);
  EXPECT_THAT(tick_values(axis), are({0, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(axis.low, 0.0);
  EXPECT_EQ(axis.high, 12.0);
  EXPECT_THAT(tick_values(outer_axis(0.021, 0.034, 6)), are({0.020, 0.025, 0.030, 0.035}));
}

TEST(PlotAxis, HasAMarkAtZeroWithoutASign) {
  const PlotAxis axis = outer_axis(0.1, 10.0, 6);
  EXPECT_EQ(tick_text(axis, tick_values(axis).front()), "0");
}

TEST(PlotAxis, HasRoomForAConstant) {
  const PlotAxis axis = outer_axis(3.0, 3.0, 6);
  EXPECT_LT(axis.low, 3.0);
  EXPECT_GT(axis.high, 3.0);
  EXPECT_GT(tick_values(axis).size(), 2U);
}

TEST(PlotAxis, MarksWholeSteps) {
  EXPECT_THAT(tick_values(exact_axis(1, 3, 8)), are({1, 2, 3}));
  EXPECT_THAT(tick_values(exact_axis(1, 390, 8)), are({50, 100, 150, 200, 250, 300, 350}));
  EXPECT_THAT(tick_values(exact_axis(7, 7, 8)), are({7, 8}));
}

TEST(PlotAxis, WritesMarksWithTheDecimalsTheyNeed) {
  EXPECT_EQ(tick_text({0, 1, 0.25}, 0.5), "0.5");
  EXPECT_EQ(tick_text({0, 1, 0.005}, 0.025), "0.025");
  EXPECT_EQ(tick_text({0, 1000, 200}, 400), "400");
}

TEST(LossPoints, AreReadFromMetrics) {
  const auto file = empty_directory() / "metrics.jsonl";
  const auto tracker = open_jsonl_tracker(file, 0);
  tracker->record({1, at_second(1), {{"loss", 3.0}}});
  tracker->record({2, at_second(2), {{"loss", std::nan("")}, {"evaluation/loss", 4.0}}});
  tracker->record({3, at_second(3), {{"loss", 2.0}, {"lr", 1.0}}});
  const LossCurve curve = read_loss_curve(file);
  EXPECT_THAT(curve.training, ElementsAre(LossPoint{1, 3.0}, LossPoint{3, 2.0}));
  EXPECT_THAT(curve.evaluation, ElementsAre(LossPoint{2, 4.0}));
}

TEST(LossPoints, NameTheFileThatIsNoMetrics) {
  const auto file = empty_directory() / "metrics.jsonl";
  std::ofstream(file) << "{\"step\":1}\nx\n";
  EXPECT_THAT([&] { read_loss_curve(file); },
              ThrowsMessage<Error>(HasSubstr(file.string() + ": byte 11: no JSON")));
}

TEST(LossPoints, AreSmoothedByAMeanOfThoseBefore) {
  const double keep = std::exp(-1.0);
  const auto smoothed = smoothed_points({{1, 4.0}, {2, 2.0}, {3, 2.0}});
  EXPECT_EQ(smoothed[0], (LossPoint{1, 4.0}));
  EXPECT_DOUBLE_EQ(smoothed[1].loss, (4 * keep + 2) / (keep + 1));
  EXPECT_DOUBLE_EQ(smoothed[2].loss, ((4 * keep + 2) * keep + 2) / ((keep + 1) * keep + 1));
}

TEST(LossPoints, AreThinnedToTheExtremesOfEachPart) {
  EXPECT_THAT(thinned_points({{1, 5}, {2, 1}, {3, 9}, {4, 4}, {5, 2}, {6, 3}, {7, 8}}, 2),
              ElementsAre(LossPoint{2, 1}, LossPoint{3, 9}, LossPoint{5, 2}, LossPoint{7, 8}));
  EXPECT_THAT(thinned_points({{1, 5}, {2, 1}}, 2), ElementsAre(LossPoint{1, 5}, LossPoint{2, 1}));
}

TEST(LossCurveSvg, PutsPointsWhereTheyBelong) {
  const std::string svg = loss_curve_svg({{{0, 10.0}, {50, 5.0}, {100, 0.0}}, {{100, 5.0}}}, "run");
  // x from 64 to 820, y from 388 (loss 0) up to 72 (loss 10).
  EXPECT_THAT(svg, HasSubstr(R"(<path class="training" d="M64.0 72.0L442.0 230.0L820.0 388.0"/>)"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle class="point" cx="820.0" cy="230.0" r="3.5"><title>step )"
                             R"(100: 5.0000</title></circle>)"));
  EXPECT_THAT(svg, HasSubstr(R"(text-anchor="end">10</text>)"));
  EXPECT_THAT(svg, HasSubstr(R"(text-anchor="middle">100</text>)"));
  EXPECT_EQ(count_of(svg, R"(class="smoothed" d="M64.0 72.0L)"), 1);
}

TEST(LossCurveSvg, NamesItsLinesWithTheirLastValues) {
  const std::string svg = loss_curve_svg({{{0, 2.0}, {1, 1.0}}, {{1, 1.5}}}, "run");
  EXPECT_THAT(svg, HasSubstr(">training 1.000</text>"));
  EXPECT_THAT(svg, HasSubstr(">smoothed 1.269</text>"));
  EXPECT_THAT(svg, HasSubstr(">evaluation 1.500</text>"));
  EXPECT_THAT(loss_curve_svg({{{0, 2.0}}, {}}, "run"), Not(HasSubstr(">evaluation")));
}

TEST(LossCurveSvg, IsFitForLightAndDark) {
  const std::string svg = loss_curve_svg({{{0, 2.0}}, {}}, "run");
  EXPECT_THAT(svg, HasSubstr("@media (prefers-color-scheme: dark)"));
  EXPECT_THAT(svg, HasSubstr(R"(<rect class="paper")"));
}

TEST(LossCurveSvg, PassesOverLossesThatAreNotFinite) {
  const std::string svg =
      loss_curve_svg({{{0, 10.0}, {25, std::nan("")}, {50, INFINITY}, {100, 0.0}}, {}}, "run");
  EXPECT_THAT(svg, HasSubstr(R"(class="training" d="M64.0 72.0L820.0 388.0")"));
}

TEST(LossCurveSvg, SaysThatThereIsNoLoss) {
  const std::string svg = loss_curve_svg({{{0, std::nan("")}}, {}}, "run");
  EXPECT_THAT(svg, HasSubstr(">no loss was recorded</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<path")));
}

TEST(LossCurveSvg, EscapesItsTitle) {
  EXPECT_EQ(count_of(loss_curve_svg({}, "a<b & c"), ">a&lt;b &amp; c</t"), 2);
}

TEST(LossCurveSvg, StaysSmallForALongRun) {
  LossCurve curve;
  for (std::int64_t step = 0; step < 200'000; ++step) {
    curve.training.push_back({step, 2 + std::sin(static_cast<double>(step))});
  }
  EXPECT_LT(loss_curve_svg(curve, "long").size(), 60'000U);
}

}  // namespace
}  // namespace parhelion::train
