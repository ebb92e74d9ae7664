#include "text/reply/reasoning_splitter.h"

#include "text/reply_support.h"

#include <gtest/gtest.h>

#include <string>

namespace parhelion::text {
namespace {

struct ReasoningCase {
  std::string text;
  std::string expected;
  ReasoningStart start = ReasoningStart::closed;
};

std::string split_whole(const ReasoningFormat& format, const ReasoningCase& item) {
  const auto make = [&] { return ReasoningSplitter(format, item.start); };
  return describe(read_pieces(make, {item.text}));
}

/// "<o>" and "</o>" stand for the markers of a format.
std::string with_markers(std::string text, const ReasoningFormat& format) {
  for (const auto& [mark, marker] :
       {std::pair{std::string("<o>"), format.open}, std::pair{std::string("</o>"), format.close}}) {
    for (std::size_t at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + marker.size())) {
      text.replace(at, mark.size(), marker);
    }
  }
  return text;
}

const ReasoningCase kCases[] = {
    {"<o>\nwhy \n not\n</o>\n\nSo.", "(why \n not)So."},
    {"  \n<o>why</o>So. ", "(why)So. "},
    {"No reasoning at all. ", "No reasoning at all. "},
    {"  leading space stays", "  leading space stays"},
    {"<o></o>So.", "So."},
    {"<o>\n\n</o>\n\nSo.", "So."},
    {"<o>never closed ", "(never closed )"},
    {"<o>", ""},
    {"</o>closed only", "</o>closed only"},
    {"", ""},
    {" \n", " \n"},
    {"why</o>So.", "(why)So.", ReasoningStart::opened},
    {"\n\n</o>So.", "So.", ReasoningStart::opened},
    {"all of it", "(all of it)", ReasoningStart::opened},
    {"", "", ReasoningStart::opened},
    {"a</o>b</o>c", "(a)b</o>c", ReasoningStart::opened},
    {"caf\u00e9 \U0001f600</o> \U0001f600", "(caf\u00e9 \U0001f600)\U0001f600",
     ReasoningStart::opened},
};

TEST(ReasoningSplitter, TellsReasoningFromTextInEachFormat) {
  for (const std::string_view name : reasoning_format_names()) {
    const ReasoningFormat format = reasoning_format(name);
    for (const ReasoningCase& item : kCases) {
      const ReasoningCase marked = {with_markers(item.text, format), {}, item.start};
      EXPECT_EQ(split_whole(format, marked), with_markers(item.expected, format))
          << name << ": " << marked.text;
    }
  }
}

TEST(ReasoningSplitter, GivesTheSameForEachCutOfTheText) {
  for (const std::string_view name : reasoning_format_names()) {
    const ReasoningFormat format = reasoning_format(name);
    for (const ReasoningCase& item : kCases) {
      const std::string text = with_markers(item.text, format);
      const auto make = [&] { return ReasoningSplitter(format, item.start); };
      const ReplyEvents whole = read_pieces(make, {text});
      for (const auto& pieces : all_cuts(text)) {
        ASSERT_EQ(read_pieces(make, pieces), whole) << name << ": " << text;
      }
    }
  }
}

TEST(ReasoningSplitter, TakesAMarkerInTheMiddleForTextUnlessReasoningReopens) {
  const std::string text = "A <think>b</think>";
  EXPECT_EQ(split_whole(reasoning_format("think"), {text, {}}), text);
  const ReasoningFormat channels = reasoning_format("channels");
  EXPECT_EQ(split_whole(channels, {"A<|channel|>analysis<|message|>b<|end|>c", {}}), "A(b)c");
}

TEST(ReasoningSplitter, TellsTextAsSoonAsItIsNoMarker) {
  ReasoningSplitter splitter(reasoning_format("think"), ReasoningStart::closed);
  ReplyEvents events;
  splitter.push("<thin", events);
  EXPECT_TRUE(events.empty());
  splitter.push("g", events);
  EXPECT_EQ(describe(events), "<thing");
  EXPECT_FALSE(splitter.is_in_reasoning());
}

TEST(ReasoningSplitter, KeepsWhiteSpaceThatIsNotBesideAMarker) {
  ReasoningFormat format = reasoning_format("think");
  format.trims = false;
  EXPECT_EQ(split_whole(format, {"<think>\na\n</think>\nb", {}}), "(\na\n)\nb");
}

TEST(OpensReasoning, LooksAtTheEndOfThePrompt) {
  const ReasoningFormat format = reasoning_format("think");
  EXPECT_TRUE(opens_reasoning("<|assistant|><think>\n", format));
  EXPECT_FALSE(opens_reasoning("<|assistant|><think>\n\n</think>\n\n", format));
  EXPECT_FALSE(opens_reasoning("<think> is said here<|assistant|>", format));
  EXPECT_FALSE(opens_reasoning("", format));
}

}  // namespace
}  // namespace parhelion::text
