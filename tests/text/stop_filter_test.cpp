#include "text/stop_filter.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

/// What each piece releases, then what the end releases.
std::vector<std::string> released(StopFilter filter, const std::vector<std::string>& pieces) {
  std::vector<std::string> texts;
  for (const std::string& piece : pieces) texts.push_back(filter.push(piece));
  texts.push_back(filter.flush());
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += text;
  return out;
}

/// The text up to the match that ends first, of those the longest, found by trying all.
std::string search(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest != 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopFilter, HoldsBackWhatMayBecomeAStopString) {
  EXPECT_THAT(released(StopFilter({"END"}), {"xE", "N", "Q"}), ElementsAre("x", "", "ENQ", ""));
}

TEST(StopFilter, NeverReleasesWhatStandsBehindTheStopString) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("aEN"), "a");
  EXPECT_EQ(filter.push("D b"), "");
  EXPECT_EQ(*filter.matched(), "END");
  EXPECT_EQ(filter.push("more") + filter.flush(), "");
}

TEST(StopFilter, TakesTheMatchThatEndsFirst) {
  StopFilter filter({"abc", "ab"});
  EXPECT_EQ(filter.push("zabc"), "z");
  EXPECT_EQ(*filter.matched(), "ab");
}

TEST(StopFilter, TakesTheLongestOfThoseThatEndTogether) {
  StopFilter filter({"b", "aab", "ab"});
  EXPECT_EQ(filter.push("aaab"), "a");
  EXPECT_EQ(*filter.matched(), "aab");
}

TEST(StopFilter, ShowsTheStopStringIfAsked) {
  EXPECT_THAT(released(StopFilter({"END"}, StopText::shown), {"aE", "NDb"}),
              ElementsAre("a", "END", ""));
}

TEST(StopFilter, ReleasesAllWithoutStopStrings) {
  EXPECT_THAT(released(StopFilter({}), {"a", "", "b"}), ElementsAre("a", "", "b", ""));
}

TEST(StopFilter, ReleasesWhatItHeldAtTheEnd) {
  EXPECT_THAT(released(StopFilter({"abab"}), {"aba"}), ElementsAre("", "aba"));
}

TEST(StopFilter, BeginsAnewBehindAFlush) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("aEN"), "a");
  EXPECT_EQ(filter.flush(), "EN");
  EXPECT_EQ(filter.push("D."), "D.");
  EXPECT_EQ(filter.matched(), nullptr);
}

TEST(StopFilter, RefusesAnEmptyStopString) {
  EXPECT_THAT(
      [] {
        StopFilter({"a", ""});
      },
      ThrowsMessage<Error>("stop string is empty, expected text"));
}

TEST(StopFilter, GoesOnFromACopy) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("xEN"), "x");
  StopFilter copy = filter;
  EXPECT_EQ(copy.push("D"), "");
  EXPECT_NE(copy.matched(), nullptr);
  EXPECT_EQ(filter.push("x"), "ENx");
}

TEST(StopFilter, IsTheSameForEachCutOfTheText) {
  const std::vector<std::string> stops = {"\xF0\x9F\x98\x80", "aab", "\n\nUser:"};
  for (const std::string text :
       {"aaab tail", "so\n\n\nUser: x", "a\xF0\x9F\x98\x81 \xF0\x9F\x98\x80."}) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      for (std::size_t next = cut; next <= text.size(); ++next) {
        EXPECT_EQ(
            joined(released(StopFilter(stops), {text.substr(0, cut), text.substr(cut, next - cut),
                                                text.substr(next)})),
            search(text, stops))
            << text << " cut at " << cut << " and " << next;
      }
    }
  }
}

TEST(StopFilter, FindsWhatASearchFinds) {
  std::mt19937 random(7);
  const auto draw = [&](std::size_t most) {
    std::string text(std::uniform_int_distribution<std::size_t>(1, most)(random), 'a');
    for (char& c : text)
      c = static_cast<char>('a' + std::uniform_int_distribution<int>(0, 1)(random));
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::string> stops = {draw(6), draw(4), draw(8)};
    const std::string text = draw(40);
    StopFilter filter(stops);
    std::string shown;
    for (const char c : text) shown += filter.push(std::string(1, c));
    EXPECT_EQ(shown + filter.flush(), search(text, stops)) << text;
  }
}

}  // namespace
}  // namespace parhelion::text
