#include "base/describe_settings.h"
#include "base/read_settings.h"
#include "base/write_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace parhelion {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

enum class Colour : std::uint8_t { red, green };
constexpr auto choices(const Colour*) {
  return std::array{choice("red", Colour::red), choice("green", Colour::green)};
}

struct Leg {
  std::string name;
  double length = 0.5;
  bool operator==(const Leg&) const = default;
};
constexpr auto settings(const Leg*) {
  return std::tuple(required_setting("name", &Leg::name, "what it is called"),
                    setting("length", &Leg::length, "its length in m"));
}

struct Chair {
  std::int64_t seats = 1;
  bool folds = false;
  Colour colour = Colour::green;
  std::filesystem::path plan;
  std::vector<std::int64_t> sizes = {1, 2};
  std::optional<double> weight;
  Leg main_leg;
  std::optional<Leg> spare;
  std::vector<Leg> legs;
  bool operator==(const Chair&) const = default;
};
constexpr auto settings(const Chair*) {
  return std::tuple(
      setting("seats", &Chair::seats, "how many sit"),
      setting("folds", &Chair::folds, "if it folds"),
      setting("colour", &Chair::colour, "its colour"), setting("plan", &Chair::plan, "a drawing"),
      setting("sizes", &Chair::sizes, "sizes to build"),
      setting("weight", &Chair::weight, "weight in kg"),
      setting("main_leg", &Chair::main_leg, "the leg"),
      setting("spare", &Chair::spare, "a spare leg"), setting("legs", &Chair::legs, "other legs"));
}

Chair read(std::string_view text) {
  return read_settings<Chair>(parse_json(text, "test"), "chair");
}

Chair full_chair() {
  Chair chair;
  chair.seats = 2;
  chair.folds = true;
  chair.colour = Colour::red;
  chair.plan = "a/b";
  chair.sizes = {3};
  chair.weight = 2.0;
  chair.main_leg = {"front", 1.0};
  chair.spare = {"spare", 0.5};
  chair.legs = {{"left", 0.5}, {"right", 0.25}};
  return chair;
}

TEST(ReadSettings, TakesEveryKindOfValue) {
  EXPECT_EQ(read(R"({"seats": 2, "folds": true, "colour": "red", "plan": "a/b", "sizes": [3],
                     "weight": 2, "main_leg": {"name": "front", "length": 1},
                     "spare": {"name": "spare"},
                     "legs": [{"name": "left"}, {"name": "right", "length": 0.25}]})"),
            full_chair());
}

TEST(ReadSettings, KeepsDefaultsOfWhatIsLeftOut) {
  Chair expected;
  expected.main_leg.name = "front";
  EXPECT_EQ(read(R"({"main_leg": {"name": "front"}})"), expected);
}

TEST(ReadSettings, SuggestsTheNearestKey) {
  EXPECT_THAT(
      [] { read(R"({"main_leg": {"name": "front", "lenght": 1}})"); },
      ThrowsMessage<Error>(StrEq("chair: unknown key 'main_leg.lenght', did you mean 'length'?")));
}

TEST(ReadSettings, ListsKeysWhereNoneIsNear) {
  EXPECT_THAT([] { read(R"({"main_leg": {"name": "front", "zzz": 1}})"); },
              ThrowsMessage<Error>(
                  StrEq("chair: unknown key 'main_leg.zzz', expected one of name, length")));
}

TEST(ReadSettings, NamesKeysThatAreMissing) {
  EXPECT_THAT([] { read("{}"); },
              ThrowsMessage<Error>(StrEq("chair: missing key 'main_leg.name'")));
  EXPECT_THAT([] { read(R"({"main_leg": {"name": "a"}, "legs": [{"name": "b"}, {}]})"); },
              ThrowsMessage<Error>(StrEq("chair: missing key 'legs.1.name'")));
}

TEST(ReadSettings, RefusesValuesOfAnotherTypeAllInOneError) {
  EXPECT_THAT(
      [] {
        read(R"({"seats": 1.5, "folds": 1, "colour": "blue", "plan": 3, "sizes": [1, "a"],
             "weight": "b", "main_leg": [], "spare": {"name": true}, "legs": {}})");
      },
      ThrowsMessage<Error>(StrEq("chair: seats: is 1.5, expected an integer\n"
                                 "chair: folds: is 1, expected true or false\n"
                                 "chair: colour: is \"blue\", expected one of red, green\n"
                                 "chair: plan: is 3, expected a path\n"
                                 "chair: sizes.1: is \"a\", expected an integer\n"
                                 "chair: weight: is \"b\", expected a finite number\n"
                                 "chair: main_leg: is a list, expected a table\n"
                                 "chair: spare.name: is true, expected a string\n"
                                 "chair: legs: is a table, expected a list")));
}

TEST(ReadSettings, RefusesNumbersThatAreNotFinite) {
  const Json leg(Json::Object{{"name", "a"}, {"length", std::nan("")}});
  EXPECT_THAT([&] { read_settings<Leg>(leg, "leg"); },
              ThrowsMessage<Error>(StrEq("leg: length: is nan, expected a finite number")));
}

TEST(WriteSettings, WritesAllThatHasAValue) {
  Chair chair;
  chair.main_leg.name = "front";
  EXPECT_EQ(write_json(write_settings(chair)),
            R"({"seats":1,"folds":false,"colour":"green","plan":"","sizes":[1,2],)"
            R"("main_leg":{"name":"front","length":0.5},"legs":[]})");
}

TEST(WriteSettings, WritesWhatReadsBackEqual) {
  const Json written = write_settings(full_chair());
  EXPECT_EQ(read_settings<Chair>(written, "chair"), full_chair());
  EXPECT_EQ(read_settings<Chair>(parse_json(write_json(written), "t"), "chair"), full_chair());
}

TEST(ResolvePaths, PutsTheDirectoryBeforeRelativePaths) {
  std::vector<std::filesystem::path> paths = {"a", "../b", "/c", ""};
  resolve_paths(paths, "/d/e");
  EXPECT_EQ(paths, (std::vector<std::filesystem::path>{"/d/e/a", "/d/b", "/c", ""}));
  Chair chair = full_chair();
  resolve_paths(chair, "/d");
  EXPECT_EQ(chair.plan, "/d/a/b");
}

TEST(DescribeSettings, GivesALineToEachKey) {
  EXPECT_EQ(describe_settings<Chair>(),
            "seats  integer, default 1: how many sit\n"
            "folds  boolean, default false: if it folds\n"
            "colour  one of red, green, default \"green\": its colour\n"
            "plan  path, default \"\": a drawing\n"
            "sizes  list of integer, default [1,2]: sizes to build\n"
            "weight  number, optional: weight in kg\n"
            "\n"
            "[main_leg]: the leg\n"
            "main_leg.name  string, required: what it is called\n"
            "main_leg.length  number, default 0.5: its length in m\n"
            "\n"
            "[spare]  optional: a spare leg\n"
            "spare.name  string, required: what it is called\n"
            "spare.length  number, default 0.5: its length in m\n"
            "\n"
            "[[legs]]: other legs\n"
            "legs.name  string, required: what it is called\n"
            "legs.length  number, default 0.5: its length in m\n");
}

}  // namespace
}  // namespace parhelion
