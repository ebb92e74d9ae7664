#include "state/mapper_leaves.h"

#include "base/error.h"
#include "state/tensor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

struct LeafCase {
  const char* name;
  Leaf leaf;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;
};

std::vector<TensorView> ramps(const std::vector<Shape>& shapes) {
  std::vector<TensorView> tensors;
  for (const Shape& shape : shapes)
    tensors.push_back(ramp("x", shape, static_cast<std::int32_t>(100 * tensors.size())));
  return tensors;
}

std::vector<std::string> contents(const std::vector<TensorView>& tensors) {
  std::vector<std::string> texts;
  for (const TensorView& tensor : tensors) texts.push_back(content(tensor));
  return texts;
}

class InvertibleLeaf : public testing::TestWithParam<LeafCase> {};

TEST_P(InvertibleLeaf, GivesItsShapesAndComesBack) {
  const std::vector<TensorView> inputs = ramps(GetParam().inputs);
  const std::vector<TensorView> outputs = transform(GetParam().leaf, inputs);
  std::vector<Shape> shapes;
  for (const TensorView& tensor : outputs) shapes.push_back(tensor.shape);
  EXPECT_EQ(shapes, GetParam().outputs);
  const Leaf back = inverse(GetParam().leaf);
  EXPECT_EQ(contents(transform(back, outputs)), contents(inputs));
  EXPECT_EQ(input_names(back), output_names(GetParam().leaf));
  EXPECT_EQ(output_names(back), input_names(GetParam().leaf));
}

INSTANTIATE_TEST_SUITE_P(
    Leaves, InvertibleLeaf,
    testing::Values(
        LeafCase{"identity", Identity{"a"}, {{2}}, {{2}}},
        LeafCase{"rename", Rename{"a", "b"}, {{2}}, {{2}}},
        LeafCase{"transpose", Transpose{"a", -2, -1}, {{2, 3, 4}}, {{2, 4, 3}}},
        LeafCase{"squeeze", Squeeze{"a", 1}, {{2, 1, 3}}, {{2, 3}}},
        LeafCase{"unsqueeze", Unsqueeze{"a", -1}, {{2, 3}}, {{2, 3, 1}}},
        LeafCase{"stack", Stack{{"a", "b"}, "c", 1}, {{2, 3}, {2, 3}}, {{2, 2, 3}}},
        LeafCase{"unstack", Unstack{"c", {"a", "b"}, -1}, {{3, 2}}, {{3}, {3}}},
        LeafCase{"chunk", Chunk{"c", {"a", "b", "d"}, 0}, {{5, 2}}, {{2, 2}, {2, 2}, {1, 2}}},
        LeafCase{"chunk_sizes", Chunk{"c", {"a", "b"}, 1, {1, 3}}, {{2, 4}}, {{2, 1}, {2, 3}}},
        LeafCase{"concatenate", Concatenate{{"a", "b"}, "c", 1}, {{2, 3}, {2, 3}}, {{2, 6}}},
        LeafCase{"concatenate_sizes",
                 Concatenate{{"a", "b"}, "c", 0, {1, 3}},
                 {{1, 2}, {3, 2}},
                 {{4, 2}}},
        LeafCase{"rope_rows", RopeRows{"a", 2, RopeLayout::half}, {{12, 3}}, {{12, 3}}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(MapperLeaves, StackKeepsTheOrderOfItsSources) {
  const auto stacked = transform(Stack{{"a", "b"}, "c", 0}, {ramp("a", {2}, 5), ramp("b", {2}, 1)});
  EXPECT_THAT(values_in(stacked[0]), ElementsAre(5, 6, 1, 2));
}

TEST(MapperLeaves, SqueezesAllDimensionsOrConverts) {
  EXPECT_EQ(transform(Squeeze{"a", {}}, {ramp("a", {1, 2, 1})})[0].shape, (Shape{2}));
  const auto wide = tensor_of("a", ir::Kind::bf16, {1}, std::vector<std::uint16_t>{0x3f80});
  EXPECT_THAT(values_in<float>(transform(Convert{"a", ir::Kind::f32}, {wide})[0]),
              ElementsAre(1.0f));
}

TEST(MapperLeaves, WithoutInverseNameTheTensor) {
  EXPECT_THAT(
      [] {
        inverse(Convert{"a", ir::Kind::f32});
      },
      ThrowsMessage<Error>("convert 'a': has no inverse, since the kind before is not named"));
  EXPECT_THAT(
      [] {
        inverse(Squeeze{"a", {}});
      },
      ThrowsMessage<Error>("squeeze 'a': has no inverse, since its dimensions are not named"));
}

TEST(MapperLeaves, RefuseCountsThatDiffer) {
  EXPECT_THAT(
      [] {
        transform(Unstack{"c", {"a", "b"}, 0}, {ramp("c", {3})});
      },
      ThrowsMessage<Error>("tensor 'c': [3] gives 3 pieces for 2 targets"));
  EXPECT_THAT(
      [] {
        transform(Chunk{"c", {"a", "b", "d"}, 0}, {ramp("c", {4})});
      },
      ThrowsMessage<Error>("tensor 'c': [4] gives 2 pieces for 3 targets"));
  EXPECT_THAT(
      [] {
        transform(Chunk{"c", {"a", "b"}, 0, {4}}, {ramp("c", {4})});
      },
      ThrowsMessage<Error>("tensor 'c': [4] gives 1 pieces for 2 targets"));
  EXPECT_THAT(
      [] {
        transform(Stack{{"a", "b"}, "c", 0}, {ramp("a", {4})});
      },
      ThrowsMessage<Error>("mapper: a leaf got 1 tensors, expected 2"));
}

TEST(MapperLeaves, RefuseShapesThatDiffer) {
  EXPECT_THAT(
      [] {
        transform(Stack{{"a", "b"}, "c", 0}, {ramp("a", {4}), ramp("b", {3})});
      },
      ThrowsMessage<Error>("stack: tensor 'b' has shape [3], expected [4] as 'a'"));
  EXPECT_THAT(
      [] {
        transform(Concatenate{{"a", "b"}, "c", 0}, {ramp("a", {1}), ramp("b", {3})});
      },
      ThrowsMessage<Error>("concatenate: tensor 'a' and the next have extents [1, 3], expected "
                           "[2, 2] (uneven ones must be given)"));
  EXPECT_THAT(
      [] {
        transform(Concatenate{{"a", "b"}, "c", 0, {2, 2}}, {ramp("a", {1}), ramp("b", {3})});
      },
      ThrowsMessage<Error>(
          "concatenate: tensor 'a' and the next have extents [1, 3], expected [2, 2]"));
}

}  // namespace
}  // namespace parhelion::state
