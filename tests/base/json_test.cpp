#include "base/json.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace parhelion {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Json, ReadsEveryKindOfValue) {
  const Json value = parse_json(R"({"a": [1, -2, 3.5, true, null, "x\ny\u00e9"], "b": {}})", "t");
  const Json::Array& array = value.find("a")->as_array("a");
  EXPECT_EQ(array[0].as_int64("a0"), 1);
  EXPECT_EQ(array[1].as_int64("a1"), -2);
  EXPECT_EQ(array[2].as_double("a2"), 3.5);
  EXPECT_TRUE(array[3].as_bool("a3"));
  EXPECT_TRUE(array[4].is_null());
  EXPECT_EQ(array[5].as_string("a5"), "x\ny\xc3\xa9");
  EXPECT_TRUE(value.find("b")->is_object());
  EXPECT_EQ(value.find("c"), nullptr);
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(write_json(parse_json(R"({"z":1,"a":{"y":[],"b":2}})", "t")),
            R"({"z":1,"a":{"y":[],"b":2}})");
}

TEST(Json, WritesDoublesThatReadBackToTheSameBits) {
  for (const double value : {0.1, -1e300, 5e-324, 1.0 / 3.0, 2.0}) {
    EXPECT_EQ(parse_json(write_json(value), "t").as_double("v"), value);
  }
  EXPECT_EQ(write_json(std::numeric_limits<double>::infinity()), "null");
}

TEST(Json, ReadsTheNearestDouble) {
  EXPECT_EQ(parse_json("0.41866852935895693", "t").as_double("v"), 0.41866852935895693);
  EXPECT_EQ(parse_json("[0.24977792341670946]", "t").as_array("a")[0].as_double("v"),
            0.24977792341670946);
  EXPECT_EQ(parse_json("2.2250738585072011e-308", "t").as_double("v"), 2.2250738585072011e-308);
  EXPECT_EQ(parse_json("1e-400", "t").as_double("v"), 0.0);
}

TEST(Json, RefusesNumbersBeyondADouble) {
  EXPECT_THAT([] { parse_json("[1, -1e400]", "file"); },
              ThrowsMessage<Error>(HasSubstr("file: no JSON at byte")));
}

TEST(Json, RefusesRepeatedKeys) {
  EXPECT_THAT([] { parse_json(R"({"a":1,"a":2})", "file"); },
              ThrowsMessage<Error>(HasSubstr("file: key 'a' is repeated")));
}

TEST(Json, RefusesDeepNesting) {
  const std::string text = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT([&] { parse_json(text, "file"); },
              ThrowsMessage<Error>(HasSubstr("file: no JSON at byte")));
}

TEST(Json, RefusesMoreValuesThanTheLimit) {
  EXPECT_THROW(parse_json("[1,2,3,4]", "file", {.depth = 8, .values = 3}), Error);
}

TEST(Json, RefusesTextThatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "nul", "1 2", "{\"a\" 1}", "\"\xff\"", "[1] x"}) {
    EXPECT_THROW(parse_json(text, "file"), Error) << text;
  }
}

TEST(Json, NamesTheTypeThatWasExpected) {
  EXPECT_THAT([] { parse_json("\"x\"", "t").as_int64("config: layers"); },
              ThrowsMessage<Error>("config: layers: is string, expected integer"));
  EXPECT_THAT([] { parse_json("18446744073709551615", "t").as_int64("n"); },
              ThrowsMessage<Error>(HasSubstr("below 2^63")));
}

}  // namespace
}  // namespace parhelion
