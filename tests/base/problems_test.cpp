#include "base/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(Problems, RaisesNothingIfAllIsAsExpected) {
  Problems problems;
  EXPECT_TRUE(problems.expect(true, "never said"));
  EXPECT_NO_THROW(problems.raise("file"));
}

TEST(Problems, RaisesEachMessageOnALineOfItsOwn) {
  Problems problems;
  EXPECT_FALSE(problems.expect(false, "a is {}", 1));
  EXPECT_FALSE(problems.expect(false, "b is {}", 2));
  EXPECT_THAT([&] { problems.raise("file"); },
              ThrowsMessage<Error>(StrEq("file: a is 1\nfile: b is 2")));
}

}  // namespace
}  // namespace parhelion
