#include "base/override_setting.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

Json tree() { return parse_json(R"({"a":{"b":1,"c":[{"d":2},{"d":3}]},"e":"x"})", "test"); }

std::string overridden(std::string_view assignment) {
  return write_json(override_setting(tree(), assignment));
}

TEST(OverrideSetting, ReplacesAValueInItsPlace) {
  EXPECT_EQ(overridden("a.b=5"), R"({"a":{"b":5,"c":[{"d":2},{"d":3}]},"e":"x"})");
  EXPECT_EQ(overridden("a.c.1.d=true"), R"({"a":{"b":1,"c":[{"d":2},{"d":true}]},"e":"x"})");
  EXPECT_EQ(overridden("a=[1,\"z\"]"), R"({"a":[1,"z"],"e":"x"})");
}

TEST(OverrideSetting, MakesKeysAndTablesThatAreMissing) {
  EXPECT_EQ(overridden("f.g.h=1.5"),
            R"({"a":{"b":1,"c":[{"d":2},{"d":3}]},"e":"x","f":{"g":{"h":1.5}}})");
}

TEST(OverrideSetting, TakesWhatIsNoTomlAsAString) {
  const auto value = [](std::string_view text) {
    return *override_setting(tree(), fmt::format("e={}", text)).find("e");
  };
  EXPECT_EQ(value("adamw"), Json("adamw"));
  EXPECT_EQ(value("../data/a=b.txt"), Json("../data/a=b.txt"));
  EXPECT_EQ(value("2024-05-06"), Json("2024-05-06"));
  EXPECT_EQ(value(""), Json(""));
  EXPECT_EQ(value("\"1\""), Json("1"));
  EXPECT_EQ(value("1"), Json(1));
}

TEST(OverrideSetting, RefusesWhatIsNoAssignment) {
  for (const std::string text : {"a.b", "=1", ".a=1", "a.=1", "a..b=1"}) {
    EXPECT_THAT([&] { overridden(text); },
                ThrowsMessage<Error>(
                    StrEq("'" + text + "': expected an assignment such as optimizer.lr=1e-4")));
  }
}

TEST(OverrideSetting, RefusesAPathThroughAValue) {
  EXPECT_THAT(
      [] { overridden("e.f=1"); },
      ThrowsMessage<Error>(StrEq("'e.f=1': what should have key 'f' is \"x\", expected a table")));
}

TEST(OverrideSetting, RefusesAnItemThatIsNotThere) {
  EXPECT_THAT([] { overridden("a.c.2.d=1"); },
              ThrowsMessage<Error>(StrEq("'a.c.2.d=1': '2' is no index into a list of 2")));
  EXPECT_THAT([] { overridden("a.c.x=1"); },
              ThrowsMessage<Error>(StrEq("'a.c.x=1': 'x' is no index into a list of 2")));
}

TEST(OverrideSetting, RefusesAListOrStringThatDoesNotEnd) {
  EXPECT_THAT([] { overridden("e=[1, 2"); },
              ThrowsMessage<Error>(StrEq("'e=[1, 2': the value is no TOML")));
}

}  // namespace
}  // namespace parhelion
