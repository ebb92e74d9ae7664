#include "train/lr/schedule.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace parhelion::train {
namespace {

using testing::DoubleNear;
using testing::Pointwise;
using testing::StrEq;
using testing::ThrowsMessage;

PhaseSettings steps_phase(std::int64_t steps, double target, Curve curve, double power = 2.0) {
  PhaseSettings phase;
  phase.steps = steps;
  phase.target = target;
  phase.curve = curve;
  phase.power = power;
  return phase;
}

PhaseSettings until_phase(double until, double target, Curve curve) {
  PhaseSettings phase;
  phase.until = until;
  phase.target = target;
  phase.curve = curve;
  return phase;
}

PhaseSettings rest_phase(double target, Curve curve) {
  PhaseSettings phase;
  phase.rest = true;
  phase.target = target;
  phase.curve = curve;
  return phase;
}

/// Multipliers of steps -1 to total.
std::vector<double> multipliers(const ScheduleSettings& settings, std::int64_t total) {
  const Schedule schedule = build_schedule(settings, total);
  std::vector<double> values;
  for (std::int64_t step = -1; step <= total; ++step) values.push_back(multiplier(schedule, step));
  return values;
}

auto are_near(const std::vector<double>& expected) {
  return Pointwise(DoubleNear(1e-12), expected);
}

TEST(Schedule, GoesLinearly) {
  EXPECT_THAT(multipliers({4, 0.0, {steps_phase(4, 2.0, Curve::linear)}}, 4),
              are_near({0.0, 0.0, 0.5, 1.0, 1.5, 2.0}));
}

TEST(Schedule, GoesAlongACosine) {
  EXPECT_THAT(multipliers({4, 1.0, {steps_phase(4, 0.0, Curve::cosine)}}, 4),
              are_near({1.0, 1.0, 0.8535533905932737, 0.5, 0.14644660940672627, 0.0}));
}

TEST(Schedule, GoesAlongAPower) {
  EXPECT_THAT(multipliers({4, 1.0, {steps_phase(4, 5.0, Curve::poly)}}, 4),
              are_near({1.0, 1.0, 1.25, 2.0, 3.25, 5.0}));
  EXPECT_THAT(multipliers({4, 1.0, {steps_phase(4, 0.0, Curve::poly, 0.5)}}, 4),
              are_near({1.0, 1.0, 0.5, 0.2928932188134524, 0.1339745962155614, 0.0}));
}

TEST(Schedule, GoesExponentially) {
  EXPECT_THAT(multipliers({4, 1.0, {steps_phase(4, 16.0, Curve::exponential)}}, 4),
              are_near({1.0, 1.0, 2.0, 4.0, 8.0, 16.0}));
}

TEST(Schedule, KeepsExponentialEndsAbove1e8) {
  EXPECT_THAT(multipliers({2, 1.0, {steps_phase(2, 0.0, Curve::exponential)}}, 2),
              are_near({1.0, 1.0, 1e-4, 0.0}));
  EXPECT_THAT(multipliers({2, 0.0, {steps_phase(2, 1.0, Curve::exponential)}}, 2),
              are_near({0.0, 1e-8, 1e-4, 1.0}));
}

TEST(Schedule, JoinsPhasesOfAllKinds) {
  const ScheduleSettings settings{
      10,
      0.0,
      {steps_phase(2, 1.0, Curve::linear), until_phase(0.59, 1.0, Curve::linear),
       rest_phase(0.5, Curve::linear)}};
  EXPECT_THAT(multipliers(settings, 10),
              are_near({0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5}));
}

TEST(Schedule, KeepsTheLastTargetBehindThePhases) {
  EXPECT_THAT(multipliers({4, 1.0, {steps_phase(2, 0.5, Curve::linear)}}, 4),
              are_near({1.0, 1.0, 0.75, 0.5, 0.5, 0.5}));
}

TEST(Schedule, KeepsTheInitialMultiplierWithoutPhases) {
  EXPECT_THAT(multipliers({2, 0.25, {}}, 2), are_near({0.25, 0.25, 0.25, 0.25}));
}

TEST(Schedule, PassesOverPhasesWithoutSteps) {
  EXPECT_THAT(
      multipliers({2, 1.0, {until_phase(0.1, 3.0, Curve::cosine), rest_phase(5.0, Curve::linear)}},
                  2),
      are_near({1.0, 3.0, 4.0, 5.0}));
  EXPECT_THAT(
      multipliers({2, 1.0, {steps_phase(2, 2.0, Curve::linear), rest_phase(7.0, Curve::linear)}},
                  2),
      are_near({1.0, 1.0, 1.5, 7.0}));
}

TEST(Schedule, RefusesPhasesBeyondTheRun) {
  EXPECT_THAT(
      [] {
        build_schedule({0, 1.0, {steps_phase(3, 1.0, Curve::linear)}}, 2);
      },
      ThrowsMessage<Error>(
          StrEq("schedule.phases.0 ends at step 3, expected at most the last, 2")));
  EXPECT_THAT(
      [] {
        build_schedule(
            {0,
             1.0,
             {steps_phase(1, 1.0, Curve::linear), steps_phase(INT64_MAX, 1.0, Curve::linear)}},
            2);
      },
      ThrowsMessage<Error>(StrEq("schedule.phases.1 ends at step 9223372036854775807, expected at "
                                 "most the last, 2")));
}

TEST(Schedule, RefusesAPhaseThatEndsBeforeItBegins) {
  EXPECT_THAT(
      [] {
        build_schedule(
            {0, 1.0, {steps_phase(5, 1.0, Curve::linear), until_phase(0.4, 1.0, Curve::linear)}},
            10);
      },
      ThrowsMessage<Error>(StrEq("schedule.phases.1 ends at step 4, before it begins at 5")));
}

TEST(ResolveSteps, TakesTheSettingOrTheData) {
  EXPECT_EQ(resolve_steps({5, 1.0, {}}, std::nullopt), 5);
  EXPECT_EQ(resolve_steps({5, 1.0, {}}, 5), 5);
  EXPECT_EQ(resolve_steps({0, 1.0, {}}, 7), 7);
}

TEST(ResolveSteps, RefusesMoreThanTheDataGive) {
  EXPECT_THAT(
      [] {
        resolve_steps({5, 1.0, {}}, 4);
      },
      ThrowsMessage<Error>(
          StrEq("schedule.steps is 5, but the data give 4 steps; more data.epochs give more")));
}

TEST(ResolveSteps, RefusesARunWithoutEnd) {
  EXPECT_THAT(
      [] {
        resolve_steps({0, 1.0, {}}, std::nullopt);
      },
      ThrowsMessage<Error>(
          StrEq("schedule.steps is 0 and the data have no end, expected schedule.steps")));
}

}  // namespace
}  // namespace parhelion::train
