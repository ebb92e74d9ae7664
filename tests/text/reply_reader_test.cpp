#include "text/reply/reply_reader.h"

#include "base/error.h"
#include "text/reply_support.h"
#include "text/tokenizer_support.h"

#include <gtest/gtest.h>

#include <string>

namespace parhelion::text {
namespace {

/// A tokenizer of bytes, with markers as tokens behind them.
class ReplyVocabulary {
 public:
  TokenId add(const std::string& marker, std::int32_t type) {
    return add_gguf_token(gguf_, marker, type);
  }
  Tokenizer tokenizer() const { return load_gguf_vocabulary(gguf_); }

 private:
  GgufVocabulary gguf_ = byte_vocabulary("gpt-2");
};

constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUserDefined = 4;

std::vector<TokenId> bytes_of(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::vector<TokenId> operator+(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string read_reply(ReplyReader reader, const std::vector<TokenId>& ids) {
  ReplyEvents events;
  for (const TokenId id : ids) reader.push(id, events);
  reader.finish(events);
  return describe(joined_events(events));
}

ReplyFormat think_and_calls() {
  return {.reasoning = reasoning_format("think"), .tools = tool_format("tool_call")};
}

TEST(ReplyReader, TellsMarkersThatAreTokensByTheirIds) {
  ReplyVocabulary vocabulary;
  const TokenId open = vocabulary.add("<think>", kUserDefined);
  const TokenId close = vocabulary.add("</think>", kUserDefined);
  const TokenId call = vocabulary.add("<tool_call>", kUserDefined);
  const TokenId call_end = vocabulary.add("</tool_call>", kControl);
  const std::vector<TokenId> ids =
      std::vector<TokenId>{open} + bytes_of("\na </think> b\n") + std::vector<TokenId>{close} +
      bytes_of("\n\nSee <tool_call>.") + std::vector<TokenId>{call} +
      bytes_of("{\"name\": \"f\", \"arguments\": {\"a\": 1}}") + std::vector<TokenId>{call_end};
  EXPECT_EQ(read_reply(ReplyReader(vocabulary.tokenizer(), {.format = think_and_calls()}), ids),
            "(a </think> b)See <tool_call>.[0 f|{\"a\": 1}]");
}

TEST(ReplyReader, TellsOtherMarkersByTheirText) {
  const Tokenizer tokenizer = ReplyVocabulary().tokenizer();
  EXPECT_EQ(read_reply(ReplyReader(tokenizer, {.format = think_and_calls()}),
                       bytes_of("<think>a</think>b<tool_call>{\"name\": \"f\"}</tool_call>")),
            "(a)b[0 f|{}]");
}

TEST(ReplyReader, ReadsMarkersOfSpecialTokensThatTextLeavesOut) {
  ReplyVocabulary vocabulary;
  const TokenId calls = vocabulary.add("[TOOL_CALLS]", kControl);
  const TokenId arguments = vocabulary.add("[ARGS]", kControl);
  const TokenId other = vocabulary.add("[OTHER]", kControl);
  const std::vector<TokenId> ids = bytes_of("a") + std::vector<TokenId>{other, calls} +
                                   bytes_of("f") + std::vector<TokenId>{arguments} + bytes_of("{}");
  const ReplyFormat format = {.tools = tool_format("bracket_args")};
  EXPECT_EQ(read_reply(ReplyReader(vocabulary.tokenizer(), {.format = format}), ids), "a[0 f|{}]");
  const std::vector<TokenId> broken = std::vector<TokenId>{calls} + bytes_of("f!");
  EXPECT_EQ(read_reply(ReplyReader(vocabulary.tokenizer(), {.format = format}), broken), "f!");
  const ReplyOptions shown = {.format = format, .special_tokens = SpecialTokens::keep};
  EXPECT_EQ(read_reply(ReplyReader(vocabulary.tokenizer(), shown), broken), "[TOOL_CALLS]f!");
}

TEST(ReplyReader, ReadsChannels) {
  ReplyVocabulary vocabulary;
  const TokenId start = vocabulary.add("<|start|>", kControl);
  const TokenId channel = vocabulary.add("<|channel|>", kControl);
  const TokenId message = vocabulary.add("<|message|>", kControl);
  const TokenId end = vocabulary.add("<|end|>", kControl);
  const TokenId constrain = vocabulary.add("<|constrain|>", kControl);
  const auto part = [&](TokenId id, std::string_view text) {
    return std::vector<TokenId>{id} + bytes_of(text);
  };
  const ReplyOptions options = {
      .format = {.reasoning = reasoning_format("channels"), .tools = tool_format("channels")}};
  EXPECT_EQ(
      read_reply(ReplyReader(vocabulary.tokenizer(), options),
                 part(channel, "analysis") + part(message, "Hm. ") + part(end, "") +
                     part(start, "assistant") + part(channel, "final") + part(message, "Yes.")),
      "(Hm.)Yes.");
  EXPECT_EQ(read_reply(ReplyReader(vocabulary.tokenizer(), options),
                       part(channel, "analysis") + part(message, "Hm.") + part(end, "") +
                           part(start, "assistant") + part(channel, "commentary to=functions.f ") +
                           part(constrain, "json") + part(message, "{\"a\": 1}")),
            "(Hm.)[0 f|{\"a\": 1}]");
}

TEST(ReplyReader, StartsInReasoningIfThePromptOpenedIt) {
  const ReplyOptions options = {.format = think_and_calls(),
                                .reasoning_start = ReasoningStart::opened};
  ReplyReader reader(ReplyVocabulary().tokenizer(), options);
  EXPECT_TRUE(reader.is_in_reasoning());
  EXPECT_EQ(read_reply(std::move(reader), bytes_of("a</think>b")), "(a)b");
}

TEST(ReplyReader, IgnoresCallsInReasoning) {
  const Tokenizer tokenizer = ReplyVocabulary().tokenizer();
  EXPECT_EQ(read_reply(ReplyReader(tokenizer, {.format = think_and_calls()}),
                       bytes_of("<think><tool_call>{}</tool_call></think>b")),
            "(<tool_call>{}</tool_call>)b");
}

TEST(ReplyReader, StopsInTheAnswerAlone) {
  const Tokenizer tokenizer = ReplyVocabulary().tokenizer();
  const std::vector<TokenId> ids = bytes_of("<think>a END b</think>c END d");
  ReplyOptions options = {.format = think_and_calls(), .stops = {"END"}};
  EXPECT_EQ(read_reply(ReplyReader(tokenizer, options), ids), "(a END b)c ");
  options.stop_scope = StopScope::everywhere;
  EXPECT_EQ(read_reply(ReplyReader(tokenizer, options), ids), "(a )");
}

TEST(ReplyReader, SaysWhichStopStringHasCome) {
  ReplyReader reader(ReplyVocabulary().tokenizer(), {.stops = {"stop", "END"}});
  ReplyEvents events;
  for (const TokenId id : bytes_of("aEN")) reader.push(id, events);
  EXPECT_EQ(reader.stop(), std::nullopt);
  reader.push('D', events);
  EXPECT_EQ(reader.stop(), "END");
  reader.push('x', events);
  reader.finish(events);
  EXPECT_EQ(describe(events), "a");
}

TEST(ReplyReader, HoldsBackIncompleteCharacters) {
  ReplyVocabulary vocabulary;
  const TokenId open = vocabulary.add("<think>", kUserDefined);
  ReplyReader reader(vocabulary.tokenizer(), {.format = think_and_calls()});
  ReplyEvents events;
  for (const TokenId id : {0xF0, 0x9F}) reader.push(id, events);
  EXPECT_TRUE(events.empty());
  for (const TokenId id : {0x98, 0x80, 0xF0}) reader.push(id, events);
  reader.push(open, events);
  reader.finish(events);
  EXPECT_EQ(describe(events), "\U0001f600\uFFFD<think>");
}

TEST(ReplyReader, ReadsPlainTextWithoutAFormat) {
  EXPECT_EQ(
      read_reply(ReplyReader(ReplyVocabulary().tokenizer(), {}), bytes_of(" <think> <tool_call> ")),
      " <think> <tool_call> ");
}

}  // namespace
}  // namespace parhelion::text
