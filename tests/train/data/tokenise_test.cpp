#include "train/data/tokenise.h"

#include "train/data/chat.h"
#include "train/data/data_support.h"

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A row's tokens as text, and beneath it a ^ where one is learnt.
std::string shown(const TokenisedRow& row) {
  std::string marks(row.ids.size(), ' ');
  for (const TokenRange& range : row.learnt) {
    for (std::int64_t i = range.begin; i < range.end; ++i) marks[static_cast<std::size_t>(i)] = '^';
  }
  return text_of_ids(row.ids) + "\n" + marks;
}

std::string tokenised(std::string_view line, const TokenRules& rules = byte_rules()) {
  return shown(RowTokeniser(rules).tokenise(
      RawRow{.origin = {}, .format = DataFormat::jsonl, .bytes = line}));
}

TEST(RowTokeniser, EndsATextWithTheEos) {
  EXPECT_EQ(tokenised(R"({"text":"abc"})"),
            "abc}\n"
            "^^^^");
}

TEST(RowTokeniser, BeginsATextWithTheBosThatTheTokenizerExpects) {
  const TokenRules rules = byte_rules(Bos::expected);
  EXPECT_EQ(tokenised(R"({"text":"abc"})", rules),
            "{abc}\n"
            "^^^^^");
  EXPECT_EQ(tokenised(R"({"text":"<bos>a"})", rules),
            "{a}\n"
            "^^^");
}

TEST(RowTokeniser, EndsNothingWhereThereIsNoEos) {
  TokenRules rules = byte_rules();
  rules.eos = std::nullopt;
  EXPECT_EQ(tokenised(R"({"text":"abc"})", rules),
            "abc\n"
            "^^^");
}

TEST(RowTokeniser, FindsNothingInAnEmptyText) {
  EXPECT_EQ(tokenised(R"({"text":""})", byte_rules(Bos::expected)), "\n");
}

TEST(RowTokeniser, LearnsTheCompletionAndItsEnd) {
  EXPECT_EQ(tokenised(R"({"prompt":"2+2=","completion":"4"})", byte_rules(Bos::expected)),
            "{2+2=4}\n"
            "     ^^");
}

TEST(RowTokeniser, EncodesPromptAndCompletionApart) {
  text::GgufVocabulary gguf = text::byte_vocabulary("gpt-2", {"a b"});
  TokenRules rules = byte_rules();
  rules.tokenizer = text::load_gguf_vocabulary(gguf);
  const TokenisedRow joined = RowTokeniser(rules).tokenise(Row(TextRow{"ab"}));
  const TokenisedRow apart = RowTokeniser(rules).tokenise(Row(CompletionRow{"a", "b"}));
  EXPECT_EQ(joined.ids, (std::vector<text::TokenId>{256, kEos}));
  EXPECT_EQ(apart.ids, (std::vector<text::TokenId>{'a', 'b', kEos}));
}

TEST(RowTokeniser, LearnsTheAssistantsTurnsUpToTheirEos) {
  EXPECT_EQ(tokenised(R"({"messages":[{"role":"user","content":"q"},)"
                      R"({"role":"assistant","content":"yes"},{"role":"user","content":"r"},)"
                      R"({"role":"assistant","content":"no"}]})"),
            "|user:q}\n|assistant:yes}\n|user:r}\n|assistant:no}\n\n"
            "                    ^^^^                     ^^^ ");
}

TEST(RowTokeniser, LearnsAWholeTurnThatHasNoEos) {
  TokenRules rules = byte_rules();
  rules.chat_template = "{% for m in messages %}{{ m.content }};{% endfor %}";
  EXPECT_EQ(tokenised(R"({"messages":[{"role":"user","content":"q"},)"
                      R"({"role":"assistant","content":"yes"}]})",
                      rules),
            "q;yes;\n"
            "  ^^^^");
}

TEST(RowTokeniser, LeavesOutWhatFollowsTheLastAnswer) {
  EXPECT_EQ(tokenised(R"({"messages":[{"role":"assistant","content":"a"},)"
                      R"({"role":"user","content":"never"}]})"),
            "|assistant:a}\n\n"
            "           ^^ ");
  EXPECT_EQ(tokenised(R"({"messages":[{"role":"user","content":"q"}]})"), "\n");
}

TEST(RowTokeniser, SeesTheSpecialTokensAndToolsInATemplate) {
  TokenRules rules = byte_rules(Bos::expected);
  rules.chat_template =
      "{{ bos_token }}{% for t in tools %}{{ t }},{% endfor %}{% for m in messages %}"
      "{{ m.content }}{{ eos_token }}{% endfor %}";
  EXPECT_EQ(tokenised(R"({"messages":[{"role":"assistant","content":"a"}],"tools":["f"]})", rules),
            "{f,a}\n"
            "   ^^");
}

TEST(RowTokeniser, NamesTheTurnAtWhichATemplateRewritesWhatCameBefore) {
  TokenRules rules = byte_rules();
  const char* line =
      R"({"messages":[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]})";
  const char* message =
      "turn {}: the chat template does not extend turn by turn, expected its text to begin with "
      "the "
      "text before this turn";
  rules.chat_template = "{% for m in messages %}{{ m.content if loop.last }};{% endfor %}";
  EXPECT_THAT([&] { tokenised(line, rules); },
              ThrowsMessage<Error>(fmt::format(fmt::runtime(message), 2)));
  rules.chat_template =
      "{% if messages|length == 1 and not add_generation_prompt %}other{% endif %}"
      "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_THAT([&] { tokenised(line, rules); },
              ThrowsMessage<Error>(fmt::format(fmt::runtime(message), 2)));
  rules.chat_template = "{{ messages|length }}{% if add_generation_prompt %}?{% endif %}";
  EXPECT_THAT([&] { tokenised(line, rules); },
              ThrowsMessage<Error>(fmt::format(fmt::runtime(message), 1)));
}

TEST(RowTokeniser, PassesOnWhatATemplateRefuses) {
  TokenRules rules = byte_rules();
  rules.chat_template = "{{ raise_exception('roles must alternate') }}";
  const char* line = R"({"messages":[{"role":"assistant","content":"a"}]})";
  EXPECT_THAT([&] { tokenised(line, rules); },
              ThrowsMessage<Error>(HasSubstr("roles must alternate")));
  rules.chat_template = std::nullopt;
  EXPECT_THAT([&] { tokenised(line, rules); },
              ThrowsMessage<Error>("messages: the model has no chat template, expected text, or "
                                   "prompt and completion"));
}

TEST(RowTokeniser, RefusesTextThatIsNoUtf8) {
  RowTokeniser tokeniser(byte_rules());
  EXPECT_THAT(
      [&] {
        tokeniser.tokenise(RawRow{{}, DataFormat::text, "a\xFF"});
      },
      ThrowsMessage<Error>("text: byte 1 is no UTF-8"));
}

TEST(CutChat, GivesWhatGenerationWouldSee) {
  const text::ChatTemplate chat_template{kChatTemplate};
  const auto row = std::get<ChatRow>(parse_row(
      R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})"));
  const auto exchanges = cut_chat(chat_template, row, {});
  ASSERT_EQ(exchanges.size(), 1u);
  EXPECT_EQ(exchanges[0].before, "<turn>user:q<eos>\n<turn>assistant:");
  EXPECT_EQ(exchanges[0].answer, "a<eos>\n");
}

}  // namespace
}  // namespace parhelion::train
