#include "state/gguf_metadata.h"

#include "base/error.h"
#include "state/checkpoint.h"
#include "state/gguf_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

GgufMetadata metadata_of(const std::vector<std::string>& entries) {
  std::vector<MetadataEntry> read;
  for (const std::string& entry : entries) {
    ByteReader reader(as_bytes(entry), "f");
    read.push_back(read_metadata_entry(reader, "f"));
  }
  return {"f", std::move(read)};
}

/// The message of the error that `act` throws, or nothing.
template <class Act>
std::string refusal_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string entry_refusal(const std::string& entry) {
  return refusal_of([&] { metadata_of({entry}); });
}

TEST(GgufMetadata, ReadsEveryTypeThatThePythonPackageWrites) {
  const Checkpoint checkpoint = open_checkpoint(golden("kinds.gguf"));
  const GgufMetadata& metadata = *checkpoint.metadata();
  EXPECT_EQ(metadata.string("general.architecture"), "test");
  EXPECT_EQ(metadata.integer("v.u8"), 200);
  EXPECT_EQ(metadata.integer("v.i8"), -100);
  EXPECT_EQ(metadata.integer("v.u16"), 60000);
  EXPECT_EQ(metadata.integer("v.i16"), -30000);
  EXPECT_EQ(metadata.integer("v.u32"), 4000000000);
  EXPECT_EQ(metadata.integer("v.i32"), -2000000000);
  EXPECT_EQ(metadata.integer("v.i64"), -(std::int64_t{1} << 62));
  EXPECT_EQ(metadata.number("v.u64"), 0x1p63);
  EXPECT_EQ(metadata.number("v.f32"), 1.5);
  EXPECT_EQ(metadata.number("v.f64"), 0.1);
  EXPECT_EQ(metadata.number("v.u8"), 200.0);
  EXPECT_TRUE(metadata.boolean("v.bool"));
  EXPECT_EQ(metadata.string("v.string"), "h\u00e9llo");
  EXPECT_THAT(metadata.strings("a.string"), ElementsAre("a", "", "b\u00e9"));
  EXPECT_THAT(metadata.integers("a.i32"), ElementsAre(1, -2, 3));
  EXPECT_THAT(metadata.numbers("a.f32"), ElementsAre(0.5, -1.5));
  EXPECT_THAT(metadata.numbers("a.u64"), ElementsAre(1.0, 0x1p63));
  EXPECT_EQ(type_text(*metadata.find("a.bool")), "array of bool");
}

TEST(GgufMetadata, ListsItsKeysInOrder) {
  const auto entry = [](std::string_view key) {
    return gguf_entry(key, MetadataType::u8, raw(std::uint8_t{1}));
  };
  const std::vector<std::string> entries = {entry("b"), entry("a"), entry("c")};
  const GgufMetadata metadata = metadata_of(entries);
  std::vector<std::string_view> keys;
  for (const MetadataEntry& held : metadata.entries()) keys.push_back(held.first);
  EXPECT_THAT(keys, ElementsAre("a", "b", "c"));
  EXPECT_EQ(metadata.find("d"), nullptr);
}

TEST(GgufMetadata, RefusesARepeatedKey) {
  const std::string entry = gguf_entry("k", MetadataType::u8, raw(std::uint8_t{1}));
  EXPECT_EQ(refusal_of([&] { metadata_of({entry, entry}); }), "f: metadata 'k' occurs twice");
}

TEST(GgufMetadata, LookupsNameKeyAndExpectedType) {
  const std::vector<std::string> entries = {
      gguf_entry("u", MetadataType::u64, raw(~std::uint64_t{0})),
      gguf_entry("s", MetadataType::string, gguf_string("x")),
      gguf_entry("a", MetadataType::array, gguf_array(MetadataType::f32, 0, "")),
      gguf_entry("b", MetadataType::array, gguf_array(MetadataType::string, 0, ""))};
  const GgufMetadata metadata = metadata_of(entries);
  EXPECT_EQ(refusal_of([&] { metadata.string("none"); }),
            "f: metadata 'none' is missing, expected string");
  EXPECT_EQ(refusal_of([&] { metadata.string("u"); }), "f: metadata 'u' is u64, expected string");
  EXPECT_EQ(refusal_of([&] { metadata.integer("u"); }),
            "f: metadata 'u' is u64, expected integer below 2^63");
  EXPECT_EQ(refusal_of([&] { metadata.integer("s"); }),
            "f: metadata 's' is string, expected integer below 2^63");
  EXPECT_EQ(refusal_of([&] { metadata.number("a"); }),
            "f: metadata 'a' is array of f32, expected number");
  EXPECT_EQ(refusal_of([&] { metadata.boolean("s"); }), "f: metadata 's' is string, expected bool");
  EXPECT_EQ(refusal_of([&] { metadata.strings("a"); }),
            "f: metadata 'a' is array of f32, expected array of string");
  EXPECT_EQ(refusal_of([&] { metadata.numbers("b"); }),
            "f: metadata 'b' is array of string, expected array of numbers");
  EXPECT_EQ(refusal_of([&] { metadata.integers("none"); }),
            "f: metadata 'none' is missing, expected array of integers below 2^63");
  EXPECT_THAT(metadata.strings("b"), IsEmpty());
  EXPECT_THAT(metadata.numbers("a"), IsEmpty());
}

TEST(GgufMetadata, RefusesFloatsAsIntegers) {
  const std::vector<std::string> entries = {
      gguf_entry("a", MetadataType::array, gguf_array(MetadataType::f32, 1, raw(1.0f)))};
  EXPECT_EQ(refusal_of([&] { metadata_of(entries).integers("a"); }),
            "f: metadata 'a' is array of f32, expected array of integers below 2^63");
}

TEST(GgufMetadata, RefusesTypesAndBoolsThatAreNone) {
  EXPECT_EQ(entry_refusal(gguf_entry("k", 13, "xxxxxxxx")), "f: metadata 'k': type 13 is unknown");
  EXPECT_EQ(entry_refusal(gguf_entry("k", MetadataType::boolean, "\x02")),
            "f: metadata 'k': bool has byte 2, expected 0 or 1");
}

TEST(GgufMetadata, RefusesArraysThatNestOrPassTheEnd) {
  const auto array = [](MetadataType type, std::uint64_t count, std::string_view values) {
    return gguf_entry("k", MetadataType::array, gguf_array(type, count, values));
  };
  EXPECT_EQ(entry_refusal(array(MetadataType::array, 1, "")),
            "f: metadata 'k': arrays of arrays are not supported");
  EXPECT_EQ(entry_refusal(array(MetadataType::u64, (std::uint64_t{1} << 61) + 1, "12345678")),
            "f: metadata 'k': has 2305843009213693953 values, but only 8 bytes are left");
  EXPECT_THAT(entry_refusal(array(MetadataType::string, ~std::uint64_t{0}, gguf_string("a"))),
              HasSubstr("f: metadata 'k' needs 8 bytes at byte 34, but only 0 are left"));
  EXPECT_THAT(entry_refusal(array(MetadataType::boolean, ~std::uint64_t{0}, std::string(3, '\1'))),
              HasSubstr("f: metadata 'k' needs 1 bytes"));
}

TEST(GgufMetadata, ReadsAHundredAndFiftyThousandStrings) {
  std::string values;
  for (int i = 0; i < 150000; ++i) values += gguf_string(std::to_string(i));
  const std::vector<std::string> entries = {
      gguf_entry("tokens", MetadataType::array, gguf_array(MetadataType::string, 150000, values))};
  const GgufMetadata metadata = metadata_of(entries);
  const auto strings = metadata.strings("tokens");
  ASSERT_EQ(strings.size(), 150000u);
  EXPECT_EQ(strings.back(), "149999");
  EXPECT_GE(strings.back().data(), entries.front().data());
  EXPECT_LT(strings.back().data(), entries.front().data() + entries.front().size());
}

}  // namespace
}  // namespace parhelion::state
