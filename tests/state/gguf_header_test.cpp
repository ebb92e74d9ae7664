#include "state/gguf_header.h"

#include "base/error.h"
#include "state/gguf_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kTypeF32 = 0;

/// The message with which a file is refused, or nothing if it is read.
std::string gguf_refusal(const std::string& file) {
  try {
    parse_gguf(as_bytes(file), "f");
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.kind()), error.what());
  }
  return "";
}

std::string tensor_refusal(const std::vector<std::string>& tensors) {
  return gguf_refusal(gguf_file({}, tensors, std::string(64, 'x')));
}

TEST(GgufHeader, ReversesDimensionsAndOrdersByPlace) {
  const std::string file =
      gguf_file({}, {gguf_tensor("b", {2, 3}, kTypeF32, 32), gguf_tensor("a", {1}, kTypeF32, 0)},
                std::string(56, 'x'));
  const GgufFile gguf = parse_gguf(as_bytes(file), "f");
  ASSERT_EQ(gguf.tensors.size(), 2u);
  EXPECT_EQ(gguf.tensors[0].name, "a");
  EXPECT_EQ(gguf.tensors[1].name, "b");
  EXPECT_EQ(gguf.tensors[1].shape, (Shape{3, 2}));
  EXPECT_EQ(gguf.tensors[1].bytes.size(), 24u);
}

TEST(GgufHeader, ReadsVersionsTwoAndThreeOnly) {
  std::string file = gguf_file({}, {}, "");
  EXPECT_EQ(gguf_refusal(file), "");
  file[4] = 2;
  EXPECT_EQ(gguf_refusal(file), "");
  file[4] = 1;
  EXPECT_EQ(gguf_refusal(file), "unsupported: f: has GGUF version 1, expected 2 or 3");
  file[4] = 4;
  EXPECT_EQ(gguf_refusal(file), "unsupported: f: has GGUF version 4, expected 2 or 3");
  std::swap(file[4], file[7]);
  EXPECT_EQ(gguf_refusal(file),
            "unsupported: f: is a big-endian GGUF file, expected little-endian");
  file[0] = 'g';
  EXPECT_EQ(gguf_refusal(file), "corrupt: f: does not begin with GGUF");
}

TEST(GgufHeader, HonoursItsAlignment) {
  const std::string entry =
      gguf_entry("general.alignment", MetadataType::u32, raw(std::uint32_t{64}));
  std::string file = gguf_file({entry}, {gguf_tensor("a", {1}, kTypeF32, 64)}, "");
  file.resize((file.size() + 63) / 64 * 64 + 64, '\0');
  file += "1234";
  EXPECT_EQ(as_text(parse_gguf(as_bytes(file), "f").tensors[0].bytes), "1234");
}

TEST(GgufHeader, RefusesAnAlignmentThatIsNone) {
  for (const std::uint32_t alignment : {0u, 24u}) {
    const std::string entry = gguf_entry("general.alignment", MetadataType::u32, raw(alignment));
    EXPECT_EQ(gguf_refusal(gguf_file({entry}, {}, "")),
              fmt::format("corrupt: f: metadata 'general.alignment' is {}, expected a power of two",
                          alignment));
  }
  const std::string text = gguf_entry("general.alignment", MetadataType::string, gguf_string("32"));
  EXPECT_EQ(gguf_refusal(gguf_file({text}, {}, "")),
            "corrupt: f: metadata 'general.alignment' is string, expected u32");
}

TEST(GgufHeader, RefusesCountsBeyondTheFile) {
  const std::string many = "GGUF" + raw(std::uint32_t{3}) + raw(~std::uint64_t{0});
  EXPECT_THAT(gguf_refusal(many + raw(std::uint64_t{0})),
              HasSubstr("corrupt: f: tensor 'name' needs 8 bytes at byte 24, but only 0 are left"));
  EXPECT_THAT(gguf_refusal(many + raw(~std::uint64_t{0})),
              HasSubstr("corrupt: f: metadata 'key' needs 8 bytes at byte 24"));
}

TEST(GgufHeader, RefusesNamesBeyondTheFile) {
  std::string file = gguf_file({}, {gguf_tensor("w", {1}, kTypeF32, 0)}, "1234");
  file.replace(24, 8, raw(~std::uint64_t{0}));
  EXPECT_THAT(gguf_refusal(file),
              HasSubstr("corrupt: f: tensor 'name' needs 18446744073709551615 bytes at byte 32"));
}

TEST(GgufHeader, RefusesDimensionsThatOverflow) {
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {1, 1, 1, 1, 1}, kTypeF32, 0)}),
            "corrupt: f: tensor 'w': has 5 dimensions, expected at most 4");
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {std::uint64_t{1} << 63}, kTypeF32, 0)}),
            "corrupt: f: tensor 'w': extent 9223372036854775808 passes 2^63");
  const std::uint64_t big = std::uint64_t{1} << 32;
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {big, big}, kTypeF32, 0)}),
            "corrupt: f: tensor 'w': f32 [4294967296, 4294967296] passes 2^63 bytes or has rows of "
            "no whole blocks");
}

TEST(GgufHeader, RefusesRowsOfNoWholeBlocks) {
  constexpr std::uint32_t kTypeQ80 = 8;
  EXPECT_EQ(
      tensor_refusal({gguf_tensor("w", {16, 2}, kTypeQ80, 0)}),
      "corrupt: f: tensor 'w': q8_0 [2, 16] passes 2^63 bytes or has rows of no whole blocks");
}

TEST(GgufHeader, NamesTheTensorTypesItDoesNotRead) {
  EXPECT_EQ(
      tensor_refusal({gguf_tensor("w", {256}, 10, 0)}),
      "unsupported: f: tensor 'w': type Q2_K is not supported, expected F32, F16, BF16, Q8_0, "
      "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K");
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {256}, 99, 0)}),
            "unsupported: f: tensor 'w': type 99 is unknown");
}

TEST(GgufHeader, RefusesOffsetsThatAreUnalignedOrPassTheEnd) {
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {1}, kTypeF32, 4)}),
            "corrupt: f: tensor 'w': offset 4 is no multiple of 32");
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {17}, kTypeF32, 0)}),
            "corrupt: f: tensor 'w': takes 68 bytes from 0 on, but the file has 64 bytes of data");
  EXPECT_EQ(tensor_refusal({gguf_tensor("w", {1}, kTypeF32, ~std::uint64_t{31})}),
            "corrupt: f: tensor 'w': takes 4 bytes from 18446744073709551584 on, but the file has "
            "64 bytes of data");
}

TEST(GgufHeader, RefusesTensorsThatOverlap) {
  EXPECT_EQ(
      tensor_refusal({gguf_tensor("b", {1}, kTypeF32, 32), gguf_tensor("a", {9}, kTypeF32, 0)}),
      "corrupt: f: tensors 'a' and 'b' overlap");
}

TEST(GgufHeader, RefusesTruncationAtEveryByte) {
  const std::string text = gguf_array(MetadataType::string, 2, gguf_string("a") + gguf_string("b"));
  const std::string file =
      gguf_file({gguf_entry("s", MetadataType::string, gguf_string("hello")),
                 gguf_entry("a", MetadataType::array, text),
                 gguf_entry("f", MetadataType::boolean, raw(std::uint8_t{1}))},
                {gguf_tensor("x", {2}, kTypeF32, 0), gguf_tensor("y", {2, 1}, kTypeF32, 32)},
                std::string(40, 'x'));
  EXPECT_EQ(gguf_refusal(file), "");
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_THAT(gguf_refusal(file.substr(0, size)), HasSubstr("corrupt: f: ")) << size;
}

}  // namespace
}  // namespace parhelion::state
