#include "state/convert.h"

#include "base/bf16.h"
#include "base/error.h"
#include "state/checkpoint.h"
#include "state/test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace parhelion::state {
namespace {

using testing::ThrowsMessage;

/// The tensor's elements as `kind`.
std::string converted(const TensorView& tensor, ir::Kind kind) {
  std::string out(static_cast<std::size_t>(*byte_count(kind, tensor.shape)), '\0');
  convert(tensor.kind, tensor.bytes, kind, std::as_writable_bytes(std::span(out)));
  return out;
}

template <class T>
std::string raw_all(const std::vector<T>& values) {
  return as_text(std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> values_of(std::string_view text) {
  std::vector<T> values(text.size() / sizeof(T));
  std::memcpy(values.data(), text.data(), text.size());
  return values;
}

std::string convert_text(ir::Kind from, std::string_view in, ir::Kind to, std::size_t out_bytes) {
  std::string out(out_bytes, '\0');
  convert(from, as_bytes(in), to, std::as_writable_bytes(std::span(out)));
  return out;
}

class ConvertGolden : public testing::TestWithParam<const char*> {};

TEST_P(ConvertGolden, DequantisesAsThePythonPackage) {
  const Checkpoint packed = open_checkpoint(golden("kinds.gguf"));
  const Checkpoint expected = open_checkpoint(golden("gguf_values.safetensors"));
  const TensorView& tensor = packed.at(GetParam());
  EXPECT_EQ(ir::name(tensor.kind), GetParam());
  EXPECT_EQ(tensor.shape, expected.at(GetParam()).shape);
  EXPECT_EQ(converted(tensor, ir::Kind::f32), as_text(expected.at(GetParam()).bytes));
  EXPECT_EQ(converted(tensor, ir::Kind::bf16), converted(expected.at(GetParam()), ir::Kind::bf16));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ConvertGolden,
                         testing::Values("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0",
                                         "q5_1", "q4_k", "q5_k", "q6_k"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Convert, GivesTheSameOnAllProcessors) {
  std::vector<float> values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.001f;
  std::vector<std::uint16_t> expected;
  for (const float value : values) expected.push_back(to_bfloat16(value).bits);
  EXPECT_EQ(values_of<std::uint16_t>(
                convert_text(ir::Kind::f32, raw_all(values), ir::Kind::bf16, values.size() * 2)),
            expected);
  EXPECT_EQ(convert_text(ir::Kind::f32, raw_all(values), ir::Kind::f32, values.size() * 4),
            raw_all(values));
}

TEST(Convert, NarrowsAsTorch) {
  const Checkpoint checkpoint = open_checkpoint(golden("narrowing.safetensors"));
  const TensorView& source = checkpoint.at("f32");
  EXPECT_EQ(values_of<std::uint16_t>(converted(source, ir::Kind::f16)),
            values_of<std::uint16_t>(as_text(checkpoint.at("f16").bytes)));
  EXPECT_EQ(values_of<std::uint16_t>(converted(source, ir::Kind::bf16)),
            values_of<std::uint16_t>(as_text(checkpoint.at("bf16").bytes)));
}

TEST(Convert, WidensEveryHalfAndEveryBFloat16) {
  std::vector<std::uint16_t> bits(65536);
  std::vector<std::uint32_t> halves, bfloats;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    bits[i] = static_cast<std::uint16_t>(i);
    halves.push_back(std::bit_cast<std::uint32_t>(half_to_float(bits[i])));
    bfloats.push_back(i << 16);
  }
  EXPECT_EQ(convert_text(ir::Kind::f16, raw_all(bits), ir::Kind::f32, 262144), raw_all(halves));
  EXPECT_EQ(convert_text(ir::Kind::bf16, raw_all(bits), ir::Kind::f32, 262144), raw_all(bfloats));
}

TEST(Convert, KeepsEveryHalfThroughF32) {
  std::vector<std::uint16_t> bits;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const bool is_nan = (i & 0x7fffu) > 0x7c00u;
    if (!is_nan) bits.push_back(static_cast<std::uint16_t>(i));
  }
  const std::string wide =
      convert_text(ir::Kind::f16, raw_all(bits), ir::Kind::f32, bits.size() * 4);
  EXPECT_EQ(convert_text(ir::Kind::f32, wide, ir::Kind::f16, bits.size() * 2), raw_all(bits));
}

TEST(Convert, KeepsNanAsNan) {
  const std::string nans = raw(std::uint32_t{0x7f800001}) + raw(std::uint32_t{0xffffffff});
  for (const ir::Kind kind : {ir::Kind::f16, ir::Kind::bf16}) {
    const std::string narrow = convert_text(ir::Kind::f32, nans, kind, 4);
    const auto wide = values_of<float>(convert_text(kind, narrow, ir::Kind::f32, 8));
    EXPECT_TRUE(std::isnan(wide[0]));
    EXPECT_TRUE(std::isnan(wide[1]));
  }
}

TEST(Convert, CrossesChunksAndAnyAlignment) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 256);
  const std::string shifted = "x" + raw_all(values);
  std::string out(1 + 5000 * 2, '\0');
  convert(ir::Kind::f32, as_bytes(shifted).subspan(1), ir::Kind::bf16,
          std::as_writable_bytes(std::span(out)).subspan(1));
  const std::string_view narrow = std::string_view(out).substr(1);
  EXPECT_EQ(convert_text(ir::Kind::bf16, narrow, ir::Kind::f32, 20000), raw_all(values));
}

TEST(Convert, CopiesEqualKindsOfAnySort) {
  EXPECT_EQ(convert_text(ir::Kind::i64, "12345678", ir::Kind::i64, 8), "12345678");
  EXPECT_EQ(convert_text(ir::Kind::q8_0, std::string(34, 'q'), ir::Kind::q8_0, 34),
            std::string(34, 'q'));
  EXPECT_EQ(convert_text(ir::Kind::f32, "", ir::Kind::bf16, 0), "");
}

TEST(Convert, RefusesPairsAndSizesByName) {
  EXPECT_TRUE(can_convert(ir::Kind::q4_1, ir::Kind::f16));
  EXPECT_FALSE(can_convert(ir::Kind::f32, ir::Kind::q4_1));
  EXPECT_THAT([] { convert_text(ir::Kind::i32, "1234", ir::Kind::f32, 4); },
              ThrowsMessage<Error>("convert: i32 to f32 is not supported"));
  EXPECT_THAT(
      [] { convert_text(ir::Kind::f32, "12345", ir::Kind::bf16, 2); },
      ThrowsMessage<Error>("convert: input has 5 bytes, expected whole blocks of 4 bytes of f32"));
  EXPECT_THAT([] { convert_text(ir::Kind::f32, "1234", ir::Kind::bf16, 4); },
              ThrowsMessage<Error>("convert: output has 4 bytes, expected 1 elements of bf16"));
  EXPECT_THAT([] { convert_text(ir::Kind::f32, "1234", ir::Kind::bf16, 3); },
              ThrowsMessage<Error>("convert: output has 3 bytes, expected 1 elements of bf16"));
}

}  // namespace
}  // namespace parhelion::state
