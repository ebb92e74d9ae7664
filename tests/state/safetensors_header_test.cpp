#include "state/safetensors_header.h"

#include "base/error.h"
#include "state/test_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::HasSubstr;

/// One entry of a header.
std::string header_entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

/// The message with which a file is refused, or nothing if it is read.
std::string header_refusal(std::string_view header, std::string_view data) {
  try {
    const std::string file = safetensors_file(header, data);
    parse_safetensors(as_bytes(file), "f");
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.kind()), error.what());
  }
  return "";
}

std::string entry_refusal(std::string_view dtype, std::string_view shape,
                          std::string_view offsets) {
  return header_refusal("{" + header_entry("w", dtype, shape, offsets) + "}", "12345678");
}

TEST(SafetensorsHeader, GivesTensorsInTheOrderOfTheirBytes) {
  const std::string file = safetensors_file("{" + header_entry("b", "F32", "[1]", "[2,6]") + "," +
                                                header_entry("a", "BF16", "[]", "[0,2]") +
                                                R"(,"__metadata__":{"format":"pt"}})",
                                            "ab1234");
  const auto tensors = parse_safetensors(as_bytes(file), "f");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].kind, ir::Kind::bf16);
  EXPECT_EQ(tensors[0].shape, Shape{});
  EXPECT_EQ(as_text(tensors[0].bytes), "ab");
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].shape, Shape{1});
  EXPECT_EQ(as_text(tensors[1].bytes), "1234");
}

TEST(SafetensorsHeader, ReadsEveryKindItKnows) {
  for (const std::string_view dtype :
       {"F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U64", "U8", "BOOL"}) {
    const std::string file =
        safetensors_file("{" + header_entry("w", dtype, "[0,3]", "[0,0]") + "}  ", "");
    const auto tensors = parse_safetensors(as_bytes(file), "f");
    ASSERT_EQ(tensors.size(), 1u);
    EXPECT_EQ(dtype_of_kind(tensors[0].kind), dtype);
  }
}

TEST(SafetensorsHeader, AcceptsAFileWithoutTensors) { EXPECT_EQ(header_refusal("{}", ""), ""); }

TEST(SafetensorsHeader, RefusesALengthThatPassesTheLimitOrTheFile) {
  EXPECT_THAT([] { parse_safetensors(as_bytes("1234567"), "f"); },
              testing::ThrowsMessage<Error>("f: has 7 bytes, expected a safetensors file of at "
                                            "least 8"));
  const std::string overflow = raw(~std::uint64_t{0}) + "{}";
  EXPECT_THAT([&] { parse_safetensors(as_bytes(overflow), "f"); },
              testing::ThrowsMessage<Error>("f: safetensors header has 18446744073709551615 bytes, "
                                            "expected at most 100000000"));
  const std::string longer = raw(std::uint64_t{3}) + "{}";
  EXPECT_THAT(
      [&] { parse_safetensors(as_bytes(longer), "f"); },
      testing::ThrowsMessage<Error>("f: safetensors header has 3 bytes, but the file has 10"));
}

TEST(SafetensorsHeader, RefusesTextThatIsNoHeader) {
  EXPECT_THAT(header_refusal("", ""), HasSubstr("corrupt: f: no JSON at byte 0"));
  EXPECT_EQ(header_refusal("[]", ""), "corrupt: f: safetensors header is array, expected object");
  EXPECT_THAT(header_refusal("{}{}", ""), HasSubstr("text after the JSON value"));
  EXPECT_THAT(header_refusal("{\"\xff\":1}", ""), HasSubstr("no JSON at byte"));
  EXPECT_EQ(header_refusal(R"({"w":1})", ""),
            "corrupt: f: tensor 'w': is integer, expected object");
  EXPECT_EQ(header_refusal(R"({"w":{}})", ""), "corrupt: f: tensor 'w': dtype is missing");
  EXPECT_EQ(header_refusal(R"({"w":{"size":1}})", ""),
            "corrupt: f: tensor 'w': field 'size' is unknown");
  EXPECT_EQ(header_refusal(R"({"w":{"dtype":1}})", ""),
            "corrupt: f: tensor 'w': dtype is integer, expected string");
  EXPECT_EQ(header_refusal(R"({"w":{"dtype":"F32","shape":{}}})", ""),
            "corrupt: f: tensor 'w': shape is object, expected array");
  EXPECT_EQ(header_refusal(R"({"__metadata__":[]})", ""),
            "corrupt: f: __metadata__ is array, expected object");
  EXPECT_EQ(header_refusal(R"({"__metadata__":{"a":1}})", ""),
            "corrupt: f: __metadata__: 'a' is integer, expected string");
}

TEST(SafetensorsHeader, RefusesDeepJson) {
  const std::string deep = R"({"w":)" + std::string(1000000, '[');
  EXPECT_THAT(header_refusal(deep, ""), HasSubstr("corrupt: f: no JSON at byte"));
}

TEST(SafetensorsHeader, RefusesARepeatedName) {
  const std::string entry = header_entry("w", "U8", "[0]", "[0,0]");
  EXPECT_EQ(header_refusal("{" + entry + "," + entry + "}", ""), "corrupt: f: key 'w' is repeated");
}

TEST(SafetensorsHeader, NamesAnUnknownDtype) {
  EXPECT_EQ(entry_refusal("F8_E4M3", "[8]", "[0,8]"),
            "unsupported: f: tensor 'w': dtype \"F8_E4M3\" is not supported");
}

TEST(SafetensorsHeader, RefusesSizesThatAreNone) {
  EXPECT_EQ(entry_refusal("F32", "[-1]", "[0,4]"),
            "corrupt: f: tensor 'w': shape has -1, expected integers in [0, 2^63)");
  EXPECT_EQ(entry_refusal("F32", "[1.5]", "[0,4]"),
            "corrupt: f: tensor 'w': shape has 1.5, expected integers in [0, 2^63)");
  EXPECT_EQ(entry_refusal("F32", "[2]", "[0,18446744073709551615]"),
            "corrupt: f: tensor 'w': data_offsets has 18446744073709551615, expected integers in "
            "[0, 2^63)");
}

TEST(SafetensorsHeader, RefusesOffsetsThatContradictTheShapeOrTheFile) {
  EXPECT_EQ(
      entry_refusal("F32", "[2]", "[0]"),
      "corrupt: f: tensor 'w': data_offsets are [0], expected [begin, end] with begin <= end");
  EXPECT_EQ(
      entry_refusal("F32", "[2]", "[8,0]"),
      "corrupt: f: tensor 'w': data_offsets are [8, 0], expected [begin, end] with begin <= end");
  EXPECT_EQ(entry_refusal("F32", "[4]", "[0,16]"),
            "corrupt: f: tensor 'w': data_offsets are [0, 16], but the file has 8 bytes of data");
  EXPECT_EQ(entry_refusal("F32", "[3]", "[0,8]"),
            "corrupt: f: tensor 'w': data_offsets are [0, 8], but f32 [3] takes 12 bytes");
  EXPECT_THAT(entry_refusal("F32", "[4294967296,4294967296]", "[0,8]"),
              HasSubstr("takes more than 2^63 bytes"));
  EXPECT_THAT(entry_refusal("F64", "[1152921504606846976]", "[0,8]"),
              HasSubstr("takes more than 2^63 bytes"));
}

TEST(SafetensorsHeader, RefusesOverlapsGapsAndTrailingBytes) {
  const std::string first = header_entry("a", "U8", "[4]", "[0,4]");
  EXPECT_EQ(
      header_refusal("{" + first + "," + header_entry("b", "U8", "[5]", "[3,8]") + "}", "12345678"),
      "corrupt: f: tensor 'b': its bytes begin at 3 of the data, expected 4: tensors overlap");
  EXPECT_EQ(
      header_refusal("{" + first + "," + header_entry("b", "U8", "[3]", "[5,8]") + "}", "12345678"),
      "corrupt: f: tensor 'b': its bytes begin at 5 of the data, expected 4: tensors leave a gap");
  EXPECT_EQ(header_refusal("{" + first + "}", "12345678"),
            "corrupt: f: tensors take 4 bytes, but the file has 8 bytes of data");
}

TEST(SafetensorsHeader, RefusesTruncationAtEveryByte) {
  const std::string file = safetensors_file("{" + header_entry("a", "U8", "[4]", "[0,4]") + "," +
                                                header_entry("b", "F32", "[1]", "[4,8]") + "}",
                                            "12345678");
  EXPECT_EQ(parse_safetensors(as_bytes(file), "f").size(), 2u);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string part = file.substr(0, size);
    EXPECT_THROW(parse_safetensors(as_bytes(part), "f"), Error) << size;
  }
}

TEST(SafetensorsHeader, ReadsAMillionTensors) {
  constexpr std::size_t kCount = 1'000'000;
  std::string header = "{";
  for (std::size_t i = 0; i < kCount; ++i) {
    header += fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  const std::string file = safetensors_file(header + "}", std::string(kCount, 'x'));
  EXPECT_EQ(parse_safetensors(as_bytes(file), "f").size(), kCount);
}

}  // namespace
}  // namespace parhelion::state
