#include "base/hash.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>

namespace parhelion {
namespace {

std::string hash_of(std::string_view text) { return hex(hash128(std::as_bytes(std::span(text)))); }

TEST(Hash, IsXxh3AsItsOwnProgramPrintsIt) {
  EXPECT_EQ(hash_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, ChangesWithEachBit) {
  std::string text(1000, 'x');
  const std::string before = hash_of(text);
  for (char& byte : text) {
    byte ^= 1;
    EXPECT_NE(hash_of(text), before);
    byte ^= 1;
  }
}

}  // namespace
}  // namespace parhelion
