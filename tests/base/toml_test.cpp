#include "base/toml.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace parhelion {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

TEST(Toml, ReadsEveryKindOfValue) {
  const Json value = parse_toml(R"(
text = "x\ny"
whole = -9_223_372_036_854_775_808
real = 1e-4
flag = true
list = [1, [2.5, "a"]]
inline = {a = 1}
)",
                                "t");
  EXPECT_EQ(write_json(value),
            R"({"text":"x\ny","whole":-9223372036854775808,"real":0.0001,"flag":true,)"
            R"("list":[1,[2.5,"a"]],"inline":{"a":1}})");
}

TEST(Toml, MakesObjectsOfTablesAndArraysOfArraysOfTables) {
  EXPECT_EQ(write_json(parse_toml("[z.y]\nb = 1\na = 2\n[[z.x]]\nc = 3\n[[z.x]]\n[a]\n", "t")),
            R"({"z":{"y":{"b":1,"a":2},"x":[{"c":3},{}]},"a":{}})");
}

TEST(Toml, ReadsNumbersThatAreNotFinite) {
  const Json value = parse_toml("a = nan\nb = -inf", "t");
  EXPECT_TRUE(std::isnan(value.find("a")->as_double("a")));
  EXPECT_EQ(value.find("b")->as_double("b"), -INFINITY);
}

TEST(Toml, NamesLineAndColumnOfAnError) {
  EXPECT_THAT([] { parse_toml("a = 1\nb = = 2", "job.toml"); },
              ThrowsMessage<Error>(StartsWith("job.toml:2:5: ")));
  EXPECT_THAT([] { parse_toml("a = 1\n\na = 2", "job.toml"); },
              ThrowsMessage<Error>(StartsWith("job.toml:3:")));
}

TEST(Toml, RefusesIntegersBeyond64Bits) {
  EXPECT_THAT([] { parse_toml("a = 9223372036854775808", "job.toml"); },
              ThrowsMessage<Error>(StartsWith("job.toml:1:")));
}

TEST(Toml, RefusesDatesAndTimes) {
  for (const char* text : {"1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"}) {
    EXPECT_THAT([&] { parse_toml(fmt::format("[a]\nb = [{}]", text), "job.toml"); },
                ThrowsMessage<Error>(StrEq(
                    "job.toml:2:6: a date or time, which no key takes; a string needs quotes")));
  }
}

TEST(Toml, RefusesInvalidUtf8) {
  EXPECT_THAT([] { parse_toml("a = \"\xff\"", "job.toml"); },
              ThrowsMessage<Error>(HasSubstr("job.toml:1:")));
}

TEST(TomlValue, IsOneValue) {
  EXPECT_EQ(parse_toml_value("1e-4"), Json(1e-4));
  EXPECT_EQ(parse_toml_value("\"a b\""), Json("a b"));
  EXPECT_EQ(parse_toml_value("[1, 2]"), Json(Json::Array{1, 2}));
}

TEST(TomlValue, IsNoneForAllElse) {
  EXPECT_EQ(parse_toml_value("adamw"), std::nullopt);
  EXPECT_EQ(parse_toml_value(""), std::nullopt);
  EXPECT_EQ(parse_toml_value("1\nb = 2"), std::nullopt);
  EXPECT_EQ(parse_toml_value("1979-05-27"), std::nullopt);
}

}  // namespace
}  // namespace parhelion
