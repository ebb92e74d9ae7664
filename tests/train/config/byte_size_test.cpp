#include "train/config/byte_size.h"

#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

TEST(ByteSize, IsANumberAndAUnit) {
  EXPECT_EQ(parse_byte_size("4096"), 4096);
  EXPECT_EQ(parse_byte_size("3B"), 3);
  EXPECT_EQ(parse_byte_size("2KiB"), 2048);
  EXPECT_EQ(parse_byte_size("1.5 MiB"), 3 << 19);
  EXPECT_EQ(parse_byte_size("8GiB"), std::int64_t{8} << 30);
  EXPECT_EQ(parse_byte_size("1TiB"), std::int64_t{1} << 40);
}

TEST(ByteSize, IsNothingElse) {
  for (const char* text : {"", "GiB", "0", "-1", "nan", "inf", "1e3", "8GB", "8 GiB ", "8  GiB",
                           "8gib", "0.1B", "9999999TiB", "1GiB1"})
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
}

}  // namespace
}  // namespace parhelion::train
