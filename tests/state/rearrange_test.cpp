#include "state/rearrange.h"

#include "base/error.h"
#include "state/checkpoint.h"
#include "state/tensor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Two rows of two q8_0 blocks each, told apart by their bytes.
TensorView quantised_rows() {
  std::vector<char> bytes;
  for (const char fill : {'a', 'b', 'c', 'd'}) bytes.insert(bytes.end(), 34, fill);
  return tensor_of("q", ir::Kind::q8_0, {2, 64}, bytes);
}

TEST(Rearrange, TransposesAnyTwoDimensions) {
  EXPECT_THAT(values_in(transpose(ramp("x", {2, 3}), 0, 1)), ElementsAre(0, 3, 1, 4, 2, 5));
  const TensorView outer = transpose(ramp("x", {2, 1, 3}), -1, 0);
  EXPECT_EQ(outer.shape, (Shape{3, 1, 2}));
  EXPECT_THAT(values_in(outer), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values_in(transpose(ramp("x", {2, 2, 2}), 0, 2)),
              ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(values_in(transpose(ramp("x", {2, 2, 2}), 0, 1)),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_EQ(transpose(ramp("x", {0, 3}), 0, 1).shape, (Shape{3, 0}));
}

TEST(Rearrange, TransposesAcrossTilesAndBack) {
  const TensorView tensor = ramp("x", {3, 37, 2, 21});
  const TensorView turned = transpose(tensor, 1, 3);
  EXPECT_EQ(turned.shape, (Shape{3, 21, 2, 37}));
  EXPECT_EQ(values_in(turned)[1], 42);
  EXPECT_EQ(content(transpose(turned, 3, 1)), content(tensor));
}

TEST(Rearrange, TransposesEverySizeOfElement) {
  const std::vector<std::uint16_t> halves = {1, 2, 3, 4};
  EXPECT_THAT(
      values_in<std::uint16_t>(transpose(tensor_of("x", ir::Kind::f16, {2, 2}, halves), 0, 1)),
      ElementsAre(1, 3, 2, 4));
  const std::vector<std::int64_t> longs = {1, 2, 3, 4};
  EXPECT_THAT(
      values_in<std::int64_t>(transpose(tensor_of("x", ir::Kind::i64, {2, 2}, longs), 0, 1)),
      ElementsAre(1, 3, 2, 4));
}

TEST(Rearrange, ReshapingCopiesNothing) {
  const TensorView tensor = ramp("x", {2, 1, 3});
  EXPECT_EQ(squeeze(tensor, 1).bytes.data(), tensor.bytes.data());
  EXPECT_EQ(squeeze(tensor, -2).shape, (Shape{2, 3}));
  EXPECT_EQ(squeeze_all(ramp("x", {1, 2, 1})).shape, (Shape{2}));
  EXPECT_EQ(unsqueeze(tensor, 0).shape, (Shape{1, 2, 1, 3}));
  EXPECT_EQ(unsqueeze(tensor, -1).shape, (Shape{2, 1, 3, 1}));
}

TEST(Rearrange, SplitsTheFirstDimensionWithoutCopying) {
  const TensorView tensor = ramp("x", {3, 2});
  const auto pieces = split(tensor, 0, {1, 2});
  EXPECT_EQ(pieces[0].bytes.data(), tensor.bytes.data());
  EXPECT_EQ(pieces[1].storage, tensor.storage);
  EXPECT_THAT(values_in(pieces[1]), ElementsAre(2, 3, 4, 5));
}

TEST(Rearrange, SplitsAndJoinsAnyDimension) {
  const TensorView tensor = ramp("x", {2, 3, 2});
  const auto pieces = split(tensor, 1, {1, 0, 2});
  EXPECT_EQ(pieces[2].shape, (Shape{2, 2, 2}));
  EXPECT_THAT(values_in(pieces[0]), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(values_in(pieces[2]), ElementsAre(2, 3, 4, 5, 8, 9, 10, 11));
  EXPECT_EQ(content(concatenate(pieces, -2)), content(tensor));
}

TEST(Rearrange, MovesWholeBlocks) {
  const auto rows = split(quantised_rows(), 0, {1, 1});
  EXPECT_EQ(as_text(rows[1].bytes), std::string(34, 'c') + std::string(34, 'd'));
  const auto columns = split(quantised_rows(), 1, {32, 32});
  EXPECT_EQ(as_text(columns[1].bytes), std::string(34, 'b') + std::string(34, 'd'));
  EXPECT_EQ(content(concatenate(columns, 1)), content(quantised_rows()));
  const TensorView turned = transpose(with_shape(quantised_rows(), {2, 2, 32}), 0, 1);
  EXPECT_EQ(as_text(turned.bytes).substr(34, 34), std::string(34, 'c'));
}

TEST(Rearrange, RefusesToBreakBlocks) {
  EXPECT_THAT(
      [] {
        split(quantised_rows(), 1, {16, 48});
      },
      ThrowsMessage<Error>(HasSubstr("tensor 'q': q8_0 [2, 16] has rows of no whole blocks")));
  EXPECT_THAT([] { transpose(quantised_rows(), 0, 1); },
              ThrowsMessage<Error>("tensor 'q': the last dimension of q8_0 cannot be transposed, "
                                   "since it is stored in blocks"));
  EXPECT_THAT([] { unsqueeze(quantised_rows(), 2); },
              ThrowsMessage<Error>("tensor 'q': q8_0 [2, 64] cannot have shape [2, 64, 1]"));
}

TEST(Rearrange, ArrangesRopeRowsAsLlamaCppConvertsThem) {
  const Checkpoint checkpoint = open_checkpoint(golden("rope_rows.safetensors"));
  const TensorView& half = checkpoint.at("half");
  const TensorView& interleaved = checkpoint.at("interleaved");
  EXPECT_EQ(content(arrange_rope_rows(half, 2, RopeLayout::interleaved)), content(interleaved));
  EXPECT_EQ(content(arrange_rope_rows(interleaved, 2, RopeLayout::half)), content(half));
}

TEST(Rearrange, ArrangesRopeRowsOfBiasesAndBlocks) {
  EXPECT_THAT(values_in(arrange_rope_rows(ramp("b", {8}), 2, RopeLayout::half)),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  std::vector<char> bytes;
  for (const char fill : {'a', 'b', 'c', 'd'}) bytes.insert(bytes.end(), 34, fill);
  const TensorView rows = tensor_of("q", ir::Kind::q8_0, {4, 32}, bytes);
  EXPECT_EQ(as_text(arrange_rope_rows(rows, 1, RopeLayout::half).bytes).substr(34, 34),
            std::string(34, 'c'));
  EXPECT_THAT([&] { arrange_rope_rows(rows, 3, RopeLayout::half); },
              ThrowsMessage<Error>("tensor 'q': rows of [4, 32] cannot be paired in 3 heads"));
}

TEST(Rearrange, ConvertsOnlyWhenTheKindDiffers) {
  const TensorView tensor = tensor_of("x", ir::Kind::f32, {2}, std::vector<float>{1.0f, -2.0f});
  EXPECT_EQ(with_kind(tensor, ir::Kind::f32).bytes.data(), tensor.bytes.data());
  EXPECT_THAT(values_in<std::uint16_t>(with_kind(tensor, ir::Kind::bf16)),
              ElementsAre(0x3f80, 0xc000));
  EXPECT_THAT([] { with_kind(ramp("x", {2}), ir::Kind::f32); },
              ThrowsMessage<Error>("tensor 'x': i32 cannot be converted to f32"));
}

TEST(Rearrange, NamesTheTensorAndShapeThatDoNotFit) {
  EXPECT_THAT(
      [] {
        transpose(ramp("x", {2, 3}), 0, 2);
      },
      ThrowsMessage<Error>("tensor 'x': dimension 2 is out of range for shape [2, 3]"));
  EXPECT_THAT(
      [] {
        squeeze(ramp("x", {2, 3}), 0);
      },
      ThrowsMessage<Error>(
          "tensor 'x': dimension 0 of [2, 3] cannot be squeezed, expected extent 1"));
  EXPECT_THAT(
      [] {
        split(ramp("x", {2, 3}), 1, {1, 1});
      },
      ThrowsMessage<Error>("tensor 'x': dimension 1 of [2, 3] cannot be split into [1, 1]"));
  EXPECT_THAT(
      [] {
        split(ramp("x", {2, 3}), 1, {4, -1});
      },
      ThrowsMessage<Error>("tensor 'x': dimension 1 of [2, 3] cannot be split into [4, -1]"));
  EXPECT_THAT(
      [] {
        concatenate({ramp("x", {2, 3}), ramp("y", {3, 2})}, 0);
      },
      ThrowsMessage<Error>("concatenate: tensor 'y' is i32 [3, 2], which does not continue "
                           "'x', i32 [2, 3], along dimension 0"));
}

}  // namespace
}  // namespace parhelion::state
