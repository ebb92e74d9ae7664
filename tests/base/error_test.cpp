#include "base/error.h"

#include "base/with_advice.h"

#include <gtest/gtest.h>

namespace parhelion {
namespace {

TEST(Error, CarriesKindAndFormattedMessage) {
  try {
    ensure(1 + 1 == 3, ErrorKind::invalid, "sum: is {}, expected {}", 2, 3);
    FAIL() << "ensure did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_STREQ(error.what(), "sum: is 2, expected 3");
  }
}

TEST(Error, EnsurePassesWhenTheConditionHolds) {
  EXPECT_NO_THROW(ensure(true, ErrorKind::bug, "never"));
}

TEST(WithAdvice, AddsItToWhatRanOutAlone) {
  const auto message_of = [](ErrorKind kind) -> std::string {
    try {
      return with_advice("ask for less", [&]() -> std::string { fail(kind, "no room"); });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
  };
  EXPECT_EQ(message_of(ErrorKind::exhausted), "no room; ask for less");
  EXPECT_EQ(message_of(ErrorKind::invalid), "no room");
  EXPECT_EQ(with_advice("ask for less", [] { return 7; }), 7);
}

TEST(Error, EveryKindHasAName) {
  EXPECT_EQ(name(ErrorKind::invalid), "invalid");
  EXPECT_EQ(name(ErrorKind::bug), "bug");
}

}  // namespace
}  // namespace parhelion
