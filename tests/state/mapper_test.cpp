#include "state/mapper.h"

#include "base/error.h"
#include "state/tensor_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// The groups as text, such as `a b -> c`.
std::vector<std::string> group_texts(const Mapper& mapper) {
  std::vector<std::string> texts;
  for (const Group& group : groups(mapper)) {
    std::string text;
    for (const Port& port : group.inputs) text += port.name + " ";
    text += "->";
    for (const Port& port : group.outputs) text += " " + port.name;
    texts.push_back(std::move(text));
  }
  return texts;
}

/// `name shape values` of each tensor that a mapper of one group gives.
std::vector<std::string> applied(const Mapper& mapper, std::vector<TensorView> tensors) {
  std::vector<std::string> texts;
  for (const TensorView& tensor : apply_group(groups(mapper).front(), std::move(tensors)))
    texts.push_back(fmt::format("{} {} {}", tensor.name, shape_text(tensor.shape),
                                fmt::join(values_in(tensor), " ")));
  return texts;
}

/// Four experts' projections become one tensor, as in T(expert, in, out).
Mapper experts() {
  return Sequential{{Stack{{"e.0", "e.1"}, "stacked", 0}, Transpose{"stacked", -2, -1},
                     Rename{"stacked", "experts"}}};
}

TEST(Mapper, ParallelIsTheUnionOfItsParts) {
  EXPECT_THAT(group_texts(Parallel{{Rename{"b", "x"}, Stack{{"c", "a"}, "y", 0}}}),
              ElementsAre("b -> x", "a c -> y"));
  EXPECT_THAT(group_texts(Parallel{}), IsEmpty());
}

TEST(Mapper, ParallelNamesWhatItsPartsShare) {
  EXPECT_THAT(
      [] {
        groups(Parallel{{Rename{"a", "x"}, Rename{"a", "y"}, Identity{"b"}}});
      },
      ThrowsMessage<Error>("mapper: parts side by side both read 'a'"));
  EXPECT_THAT(
      [] {
        groups(Parallel{{Rename{"a", "x"}, Rename{"b", "x"}}});
      },
      ThrowsMessage<Error>("mapper: parts side by side both write 'x'"));
  EXPECT_THAT(
      [] {
        groups(Stack{{"a", "a"}, "x", 0});
      },
      ThrowsMessage<Error>("mapper: parts side by side both read 'a'"));
  EXPECT_THAT(
      [] {
        groups(Stack{{}, "x", 0});
      },
      ThrowsMessage<Error>("mapper: a leaf has no sources"));
}

TEST(Mapper, SequentialChainsItsStages) {
  EXPECT_THAT(group_texts(experts()), ElementsAre("e.0 e.1 -> experts"));
  EXPECT_THAT(applied(experts(), {ramp("e.1", {1, 2}, 4), ramp("e.0", {1, 2})}),
              ElementsAre("experts [2, 2, 1] 0 1 4 5"));
}

TEST(Mapper, SequentialFillsGaps) {
  const Mapper late{Sequential{{Rename{"a", "b"}, Rename{"b", "c"}, Stack{{"c", "d"}, "e", 0}}}};
  EXPECT_THAT(group_texts(late), ElementsAre("a d -> e"));
  const Mapper early{Sequential{{Chunk{"a", {"b", "c"}, 0}, Rename{"b", "d"}}}};
  EXPECT_THAT(group_texts(early), ElementsAre("a -> c d"));
}

TEST(Mapper, SequentialMergesGroupsThatMeet) {
  const Mapper mapper{Sequential{
      {Parallel{{Chunk{"a", {"a0", "a1"}, 0}, Chunk{"b", {"b0", "b1"}, 0}, Identity{"c"}}},
       Parallel{{Stack{{"a0", "b0"}, "x", 0}, Stack{{"a1", "b1"}, "y", 0}}}}}};
  EXPECT_THAT(group_texts(mapper), ElementsAre("a b -> x y", "c -> c"));
  EXPECT_THAT(applied(mapper, {ramp("a", {2}), ramp("b", {2}, 5)}),
              ElementsAre("x [2, 1] 0 5", "y [2, 1] 1 6"));
}

TEST(Mapper, SequentialMaySwapNames) {
  const Mapper mapper{Sequential{
      {Parallel{{Rename{"a", "b"}, Rename{"b", "a"}}}, Concatenate{{"a", "b"}, "c", 0}}}};
  EXPECT_THAT(applied(mapper, {ramp("a", {1}, 1), ramp("b", {1}, 2)}), ElementsAre("c [2] 2 1"));
}

TEST(Mapper, SequentialRefusesNamesThatWouldClash) {
  EXPECT_THAT(
      [] {
        groups(Sequential{{Rename{"a", "b"}, Stack{{"a", "b"}, "c", 0}}});
      },
      ThrowsMessage<Error>("mapper: a stage both reads and would pass on 'a'"));
  EXPECT_THAT(
      [] {
        groups(Sequential{{Chunk{"a", {"b", "c"}, 0}, Rename{"b", "c"}}});
      },
      ThrowsMessage<Error>("mapper: a stage both writes and would pass on 'c'"));
}

TEST(Mapper, SequentialRefusesNoStagesAndSkipsEmptyOnes) {
  EXPECT_THAT([] { groups(Sequential{}); },
              ThrowsMessage<Error>("mapper: a sequence has no stages"));
  EXPECT_THAT(group_texts(Sequential{{Parallel{}, Rename{"a", "b"}, Parallel{}}}),
              ElementsAre("a -> b"));
  EXPECT_THAT(group_texts(Sequential{{Parallel{}}}), IsEmpty());
}

TEST(Mapper, ShardKeepsEveryNthGroupByInputName) {
  const std::vector<Mapper> parts = {Rename{"c", "x"}, Rename{"a", "z"}, Rename{"b", "y"}};
  EXPECT_THAT(group_texts(Shard{parts, 2, 0}), ElementsAre("a -> z", "c -> x"));
  EXPECT_THAT(group_texts(Shard{parts, 2, 1}), ElementsAre("b -> y"));
  EXPECT_THAT(
      [&] {
        groups(Shard{parts, 2, 2});
      },
      ThrowsMessage<Error>("mapper: shard 2 of 2, expected an index in [0, count)"));
}

TEST(Mapper, PrefixScopePrefixesBothSides) {
  const Mapper mapper{PrefixScope{"model.", "", {Identity{"a"}, Stack{{"b", "c"}, "d", 0}}}};
  EXPECT_THAT(group_texts(mapper), ElementsAre("model.a -> a", "model.b model.c -> d"));
  EXPECT_THAT(group_texts(PrefixScope{"x.", "y.", {experts()}}),
              ElementsAre("x.e.0 x.e.1 -> y.experts"));
}

TEST(Mapper, SelectsChildModulesAndIdentities) {
  EXPECT_THAT(group_texts(select_child_modules({"a", "b.c"}, "m")),
              ElementsAre("m.a -> a", "m.b.c -> b.c"));
  EXPECT_THAT(group_texts(identity({"a", "b"})), ElementsAre("a -> a", "b -> b"));
}

TEST(Mapper, InvertsCompositions) {
  const Mapper mapper{PrefixScope{"x.", "y.", {experts(), Rename{"n", "norm"}}}};
  EXPECT_THAT(group_texts(invert(mapper)),
              ElementsAre("y.experts -> x.e.0 x.e.1", "y.norm -> x.n"));
  const auto there =
      apply_group(groups(mapper).front(), {ramp("x.e.0", {2, 3}), ramp("x.e.1", {2, 3}, 6)});
  const auto back = apply_group(groups(invert(mapper)).front(), there);
  EXPECT_THAT(values_in(back[0]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values_in(back[1]), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(
      [] {
        invert(Shard{{}, 2, 1});
      },
      ThrowsMessage<Error>(testing::HasSubstr("shard 1 of 2: has no inverse")));
  EXPECT_THAT(
      [] {
        invert(Sequential{{Convert{"a", ir::Kind::f32}}});
      },
      ThrowsMessage<Error>(testing::HasSubstr("convert 'a': has no inverse")));
}

TEST(Mapper, AppliesOneGroupToJustItsInputs) {
  const auto all = groups(experts());
  EXPECT_EQ(&group_reading(all, {"e.1", "e.0"}), &all.front());
  EXPECT_THAT([&] { group_reading(all, {"e.0"}); },
              ThrowsMessage<Error>("mapper: no group reads just 'e.0'"));
  EXPECT_THAT([&] { apply_group(all.front(), {ramp("e.0", {2})}); },
              ThrowsMessage<Error>("mapper: a group got 'e.0', expected 'e.0', 'e.1'"));
}

TEST(Mapper, RenamingCopiesNothing) {
  const TensorView tensor = ramp("a", {3});
  const auto outputs =
      apply_group(groups(Sequential{{Rename{"a", "b"}, Identity{"b"}}}).front(), {tensor});
  EXPECT_EQ(outputs[0].name, "b");
  EXPECT_EQ(outputs[0].bytes.data(), tensor.bytes.data());
  EXPECT_THAT(groups(Sequential{{Rename{"a", "b"}, Identity{"b"}}}).front().steps, IsEmpty());
}

TEST(Mapper, GroupsALargeMixtureOfExperts) {
  Parallel layers;
  for (int layer = 0; layer < 100; ++layer) {
    Stack stack{{}, "stacked", 0};
    for (int expert = 0; expert < 128; ++expert)
      stack.sources.push_back(fmt::format("experts.{}.weight", expert));
    layers.parts.emplace_back(PrefixScope{fmt::format("layers.{}.", layer),
                                          fmt::format("layers.{}.", layer),
                                          {Sequential{{stack, Transpose{"stacked", -2, -1}}}}});
  }
  const auto all = groups(Mapper(layers));
  ASSERT_EQ(all.size(), 100u);
  EXPECT_EQ(all.front().inputs.size(), 128u);
  EXPECT_EQ(all.front().steps.size(), 2u);
}

}  // namespace
}  // namespace parhelion::state
