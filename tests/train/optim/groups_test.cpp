#include "train/optim/groups.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

const std::vector<TrainedParameter>& parameters() {
  static const std::vector<TrainedParameter> all = {
      {"embed.weight", {ir::Kind::f32, {8, 4}}, true},
      {"layers.0.norm.weight", {ir::Kind::f32, {4}}, false},
      {"layers.0.up.weight", {ir::Kind::f32, {8, 4}}, false},
      {"layers.1.up.weight", {ir::Kind::bf16, {8, 4}}, false}};
  return all;
}

std::vector<UpdateScale> resolved(const std::vector<OptimizerGroup>& groups) {
  OptimizerSettings settings;
  settings.weight_decay = 0.1;
  settings.groups = groups;
  return resolve_groups(settings, parameters());
}

TEST(Groups, DecayAllButEmbeddingsAndNormsByDefault) {
  EXPECT_THAT(resolved({}), ElementsAre(UpdateScale{1, 0}, UpdateScale{1, 0}, UpdateScale{1, 0.1},
                                        UpdateScale{1, 0.1}));
}

TEST(Groups, TakeTheFirstThatMatchesTheWholeName) {
  EXPECT_THAT(resolved({{R"(layers\.0\..*)", 2.0, 0.5}, {".*up.weight", 3.0, 0.25}}),
              ElementsAre(UpdateScale{1, 0}, UpdateScale{2, 0.5}, UpdateScale{2, 0.5},
                          UpdateScale{3, 0.25}));
}

TEST(Groups, KeepTheDefaultDecayWhereTheyGiveNone) {
  EXPECT_THAT(
      resolved({{".*", 2.0, std::nullopt}}),
      ElementsAre(UpdateScale{2, 0}, UpdateScale{2, 0}, UpdateScale{2, 0.1}, UpdateScale{2, 0.1}));
}

TEST(Groups, RefuseAnExpressionThatMatchesNothing) {
  EXPECT_THAT(
      [] {
        resolved({{".*up.weight", 1.0, {}}, {"up.weight", 1.0, {}}});
      },
      ThrowsMessage<Error>(StrEq("optimizer.groups.1.match: 'up.weight' matches no "
                                 "parameter that groups before it leave")));
}

TEST(Groups, RefuseAGroupWhoseParametersAreAllTaken) {
  EXPECT_THAT(
      [] {
        resolved({{".*", 1.0, {}}, {".*up.weight", 1.0, {}}});
      },
      ThrowsMessage<Error>(StrEq("optimizer.groups.1.match: '.*up.weight' matches no "
                                 "parameter that groups before it leave")));
}

}  // namespace
}  // namespace parhelion::train
