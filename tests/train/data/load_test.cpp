#include "train/data/load.h"

#include "base/file.h"
#include "train/data/data_support.h"

#include <fmt/format.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class LoadTest : public DataFiles {
 protected:
  DataRequest request(std::vector<std::filesystem::path> files) const {
    return {.files = std::move(files), .cache = directory_ / "cache", .threads = 1};
  }
  std::vector<std::string> cached_names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "cache")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static std::vector<std::string> texts_of(const Documents& documents) {
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < documents.count(); ++i) {
      texts.push_back(text_of_ids(documents.ids(i)));
    }
    return texts;
  }
  /// What loading logs.
  static std::string log_of(const DataRequest& request, const TokenRules& rules) {
    testing::internal::CaptureStderr();
    load_documents(request, rules);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LoadTest, ReadsFilesInOrder) {
  const auto a = put("a.jsonl", "{\"text\":\"one\"}\n\n{\"prompt\":\"2\",\"completion\":\"3\"}");
  const auto b = put("b.txt", "four");
  const Documents documents = load_documents(request({b, a}), byte_rules());
  EXPECT_THAT(texts_of(documents), ElementsAre("four}", "one}", "23}"));
  EXPECT_EQ(documents.where(0), b.string());
  EXPECT_EQ(documents.where(2), a.string() + ":3");
  EXPECT_EQ(documents.report(),
            (DataReport{.documents = 3, .tokens = 12, .learnt_tokens = 9, .skipped = {}}));
}

TEST_F(LoadTest, GivesTheSameOnAnyNumberOfThreads) {
  std::string rows;
  for (int i = 0; i < 2000; ++i) {
    rows += i % 50 == 7 ? "{\"text\":\n" : fmt::format("{{\"text\":\"row {}\"}}\n", i * i);
  }
  DataRequest one = request({put("a.jsonl", rows)});
  one.on_error = OnError::skip;
  const Documents expected = load_documents(one, byte_rules());
  DataRequest many = one;
  many.cache = directory_ / "other";
  many.threads = 5;
  const Documents documents = load_documents(many, byte_rules());
  EXPECT_EQ(texts_of(documents), texts_of(expected));
  EXPECT_EQ(documents.report(), expected.report());
  EXPECT_EQ(documents.report().broken, 40);
  EXPECT_EQ(read_file(directory_ / "other" / (documents.key() + ".tokens")),
            read_file(directory_ / "cache" / (documents.key() + ".tokens")));
}

TEST_F(LoadTest, WritesToScratchWhatTheCacheLacks) {
  DataRequest asked = request({put("a.txt", "abc")});
  asked.cache = directory_ / "untouched";
  asked.scratch = directory_ / "scratch";
  const std::string key = load_documents(asked, byte_rules()).key();
  EXPECT_FALSE(std::filesystem::exists(asked.cache));
  EXPECT_TRUE(std::filesystem::exists(asked.scratch / (key + ".tokens")));
  std::filesystem::rename(asked.scratch, asked.cache);
  load_documents(asked, byte_rules());
  EXPECT_FALSE(std::filesystem::exists(asked.scratch));
}

TEST_F(LoadTest, ReportsProgress) {
  const std::string text(5 << 20, 'a');
  DataRequest asked = request({put("a.txt", text), put("b.txt", text), put("c.txt", "c")});
  std::vector<DataProgress> seen;
  asked.progress = [&](const DataProgress& progress) { seen.push_back(progress); };
  load_documents(asked, byte_rules());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].documents, 2);
  EXPECT_EQ(seen[0].bytes, 10 << 20);
  EXPECT_EQ(seen[0].total_bytes, (10 << 20) + 1);
  EXPECT_EQ(seen[1].tokens, (10 << 20) + 4);
}

TEST_F(LoadTest, StopsAtTheFirstBrokenRowAndNamesIt) {
  std::string rows;
  for (int i = 1; i <= 3000; ++i) {
    rows += i == 1234 || i == 1300 ? "{\"text\":\"cut o\n" : "{\"text\":\"whole\"}\n";
  }
  DataRequest asked = request({put("a.jsonl", rows)});
  asked.threads = 4;
  EXPECT_THAT([&] { load_documents(asked, byte_rules()); },
              ThrowsMessage<Error>((directory_ / "a.jsonl").string() +
                                   ":1234: row: no JSON at byte 14: incomplete JSON"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "cache"));
}

TEST_F(LoadTest, SkipsBrokenRowsAndReportsThem) {
  DataRequest asked = request({put("a.jsonl", "{}\n{\"text\":\"ok\"}\n{\"text\":7}\n"),
                               put("b.txt", "\xC0"), put("c.txt", "fine")});
  asked.on_error = OnError::skip;
  const Documents documents = load_documents(asked, byte_rules());
  EXPECT_THAT(texts_of(documents), ElementsAre("ok}", "fine}"));
  const std::string d = directory_.string();
  EXPECT_EQ(describe(documents.report(), documents.files()),
            "2 documents, 8 tokens, 6 of them learnt; 3 broken rows skipped\n  " + d +
                "/a.jsonl:1: row: has 0 of these, expected one: text; prompt and completion; "
                "messages\n  " +
                d + "/a.jsonl:3: text: is integer, expected string\n  " + d +
                "/b.txt: text: byte 0 is no UTF-8");
}

TEST_F(LoadTest, SkipsWhatHasNothingToLearnAndReportsIt) {
  TokenRules rules = byte_rules();
  rules.eos = std::nullopt;
  const Documents documents =
      load_documents(request({put("a.jsonl",
                                  "{\"text\":\"\"}\n{\"text\":\"x\"}\n{\"text\":\"xy\"}\n"
                                  "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}\n")}),
                     rules);
  EXPECT_THAT(texts_of(documents), ElementsAre("xy"));
  EXPECT_EQ(documents.report().nothing_to_learn, 3);
  EXPECT_EQ(documents.report().skipped[1],
            (SkippedRow{{0, 2}, "has 1 tokens and nothing to learn"}));
}

TEST_F(LoadTest, RefusesDataWithNothingToLearn) {
  EXPECT_THAT(
      [&] { load_documents(request({put("a.jsonl", "\n")}), byte_rules()); },
      ThrowsMessage<Error>("data: no document has anything to learn; 0 documents, 0 tokens, "
                           "0 of them learnt"));
  EXPECT_THAT([&] { load_documents(request({put("a.txt", "")}), byte_rules()); },
              ThrowsMessage<Error>(HasSubstr("a.txt: has 0 tokens and nothing to learn")));
  EXPECT_THAT([&] { load_documents(request({directory_ / "none.txt"}), byte_rules()); },
              ThrowsMessage<Error>(HasSubstr("none.txt: cannot open")));
}

TEST_F(LoadTest, RefusesTheTokenizerOfAnotherModelEvenIfItSkipsBrokenRows) {
  TokenRules rules = byte_rules();
  rules.vocabulary = 200;
  DataRequest asked = request({put("a.txt", "\xC3\xA9")});
  asked.on_error = OnError::skip;
  EXPECT_THAT([&] { load_documents(asked, rules); },
              ThrowsMessage<Error>((directory_ / "a.txt").string() +
                                   ": token id 257 is outside the model's vocabulary of 200, "
                                   "expected the model's own tokenizer"));
}

TEST_F(LoadTest, PassesOnAnErrorThatIsNotTheRows) {
  TokenRules rules = byte_rules();
  rules.chat_template = "{% include 'x' %}";
  DataRequest asked =
      request({put("a.jsonl", R"({"messages":[{"role":"assistant","content":"a"}]})")});
  asked.on_error = OnError::skip;
  EXPECT_THAT([&] { load_documents(asked, rules); },
              ThrowsMessage<Error>("chat template line 1: statement 'include' is not supported"));
}

TEST_F(LoadTest, RefusesACacheDirectoryThatCannotBe) {
  DataRequest asked = request({put("a.txt", "abc")});
  asked.cache = asked.files.front() / "cache";
  EXPECT_THAT([&] { load_documents(asked, byte_rules()); },
              ThrowsMessage<Error>(HasSubstr("cache: cannot make the directory: ")));
}

TEST_F(LoadTest, TakesTokensFromTheCacheWhateverTheFilesAreCalled) {
  DataRequest asked = request({put("a.txt", "abc")});
  load_documents(asked, byte_rules());
  asked.files = {put("b.txt", "abc")};
  int rounds = 0;
  asked.progress = [&](const DataProgress&) { ++rounds; };
  EXPECT_EQ(load_documents(asked, byte_rules()).where(0), (directory_ / "b.txt").string());
  EXPECT_EQ(rounds, 0);
  EXPECT_EQ(cached_names().size(), 1u);
}

TEST_F(LoadTest, NeverTakesTokensThatWouldDiffer) {
  const DataRequest asked = request({put("a.txt", "abc"), put("b.txt", "de")});
  std::vector<std::string> keys = {load_documents(asked, byte_rules()).key()};
  const auto expect_new = [&](const DataRequest& changed, const TokenRules& rules) {
    const std::string key = load_documents(changed, rules).key();
    EXPECT_THAT(keys, Not(testing::Contains(key)));
    keys.push_back(key);
  };
  TokenRules rules = byte_rules(Bos::expected);
  rules.tokenizer_digest = byte_rules().tokenizer_digest;
  expect_new(asked, rules);
  rules = byte_rules();
  rules.tokenizer_digest = "another";
  expect_new(asked, rules);
  rules = byte_rules();
  rules.eos = std::nullopt;
  expect_new(asked, rules);
  rules = byte_rules();
  rules.chat_template = "{{ messages }}";
  expect_new(asked, rules);
  DataRequest changed = asked;
  changed.on_error = OnError::skip;
  expect_new(changed, byte_rules());
  std::swap(changed.files[0], changed.files[1]);
  expect_new(changed, byte_rules());
  changed.files = {put("a.txt", "{\"text\":\"1\"}")};
  expect_new(changed, byte_rules());
  changed.format = DataFormat::jsonl;
  expect_new(changed, byte_rules());
}

TEST_F(LoadTest, MakesADamagedCacheAgainWithAWarning) {
  const DataRequest asked = request({put("a.txt", "abcdef")});
  const auto path = directory_ / "cache" / (load_documents(asked, byte_rules()).key() + ".tokens");
  const std::string whole = read_file(path);
  EXPECT_EQ(log_of(asked, byte_rules()), "");
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  for (const std::string& content : {damaged, whole.substr(0, whole.size() / 2), std::string()}) {
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_THAT(log_of(asked, byte_rules()), HasSubstr(path.string() + ": "));
    EXPECT_EQ(read_file(path), whole);
  }
}

TEST_F(LoadTest, MakesTheCacheOfAnotherTokenizerAgain) {
  const DataRequest asked = request({put("a.txt", "abcdef")});
  const TokenRules with_bos = byte_rules(Bos::expected);
  const auto other = directory_ / "cache" / (load_documents(asked, with_bos).key() + ".tokens");
  const Documents documents = load_documents(asked, byte_rules());
  const auto path = directory_ / "cache" / (documents.key() + ".tokens");
  std::filesystem::copy_file(other, path, std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(log_of(asked, byte_rules()), HasSubstr("has key "));
  EXPECT_THAT(texts_of(load_documents(asked, byte_rules())), ElementsAre("abcdef}"));
}

}  // namespace
}  // namespace parhelion::train
