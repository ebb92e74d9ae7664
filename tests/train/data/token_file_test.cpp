#include "train/data/token_file.h"

#include "base/file.h"
#include "train/data/data_support.h"

#include <cstring>

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class TokenFileTest : public DataFiles {
 protected:
  Documents open(const std::string& key = "key", std::int64_t vocabulary = 259,
                 std::size_t files = 1) const {
    return Documents(directory_ / "rows.tokens", key, vocabulary,
                     std::vector<std::filesystem::path>(files, "rows.jsonl"));
  }
};

TEST_F(TokenFileTest, KeepsDocumentsAndWhatIsLearnt) {
  const auto documents = documents_of(
      std::vector<TokenisedRow>{{.ids = {5, 6, 7}, .learnt = {{1, 3}}},
                                {.ids = tokens_of("0123456789"), .learnt = {{0, 1}, {8, 9}}}});
  ASSERT_EQ(documents->count(), 2);
  EXPECT_EQ(documents->length(1), 10);
  EXPECT_EQ(text_of_ids(documents->ids(1)), "0123456789");
  std::string learnt;
  for (std::int64_t i = 0; i < 3; ++i) learnt += documents->learns(0, i) ? '^' : ' ';
  for (std::int64_t i = 0; i < 10; ++i) learnt += documents->learns(1, i) ? '^' : ' ';
  EXPECT_EQ(learnt, " ^^^       ^ ");
  EXPECT_EQ(documents->where(1), "rows.jsonl:2");
}

TEST_F(TokenFileTest, KeepsDocumentsOfMoreThanABlock) {
  const auto documents = documents_of(std::vector<std::int64_t>(3, 300'000));
  EXPECT_EQ(documents->ids(2)[299'999], (14 + 299'999) % 250);
  EXPECT_TRUE(documents->learns(2, 299'999));
}

TEST_F(TokenFileTest, KeepsTheReport) {
  DataReport report{.documents = 1,
                    .tokens = 2,
                    .learnt_tokens = 1,
                    .broken = 3,
                    .nothing_to_learn = 4,
                    .skipped = {{{1, 9}, "no \"JSON\""}}};
  TokenWriter writer(directory_ / "rows.tokens", "key", 2);
  writer.add({1, 7}, {.ids = {1, 2}, .learnt = {{0, 2}}});
  writer.finish(report);
  EXPECT_EQ(open("key", 259, 2).report(), report);
  EXPECT_EQ(open("key", 259, 2).where(0), "rows.jsonl:7");
}

TEST_F(TokenFileTest, IsNotThereUntilItIsFinished) {
  {
    TokenWriter writer(directory_ / "rows.tokens", "key", 1);
    writer.add({}, {.ids = {1, 2}, .learnt = {}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(TokenFileTest, IsRefusedAtEveryOtherLength) {
  documents_of(std::vector<std::int64_t>{3, 4});
  const std::string whole = read_file(directory_ / "rows.tokens");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put("rows.tokens", whole.substr(0, size));
    EXPECT_THROW(open(), Error) << size;
  }
  put("rows.tokens", whole + whole);
  EXPECT_THROW(open(), Error);
}

TEST_F(TokenFileTest, IsRefusedWithAnyByteChanged) {
  documents_of(std::vector<std::int64_t>{3, 4});
  const std::string whole = read_file(directory_ / "rows.tokens");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char change : {'\x01', '\x80'}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      put("rows.tokens", changed);
      try {
        open();
        ADD_FAILURE() << "byte " << i << " may be changed";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
        EXPECT_THAT(error.what(), HasSubstr("rows.tokens: "));
      }
    }
  }
}

TEST_F(TokenFileTest, IsRefusedIfDocumentsDoNotLieOneAfterAnother) {
  documents_of(std::vector<std::int64_t>{3, 5});
  const std::string whole = read_file(directory_ / "rows.tokens");
  const auto expect_refused = [&](std::size_t at, std::uint64_t value, const char* message) {
    std::vector<std::uint64_t> words((whole.size() + 7) / 8);
    std::memcpy(words.data(), whole.data(), whole.size());
    words[at] = value;
    EXPECT_THAT(
        [&] { parse_token_file(std::as_bytes(std::span(words)).first(whole.size()), "file"); },
        ThrowsMessage<Error>(message));
  };
  constexpr std::size_t kBegins = 2 + 4;  // words: magic, version, 8 ids
  const char* message = "file: documents do not lie one after another";
  expect_refused(kBegins, 1, message);
  expect_refused(kBegins + 1, 1, message);
  expect_refused(kBegins + 1, 7, message);
  expect_refused(kBegins + 1, ~std::uint64_t{0}, message);
  expect_refused(kBegins + 2, 9, message);
  expect_refused(1, 2, "file: has version 2, expected 1");
}

TEST_F(TokenFileTest, SaysWhyItIsNotTheOneThatIsExpected) {
  documents_of(std::vector<std::int64_t>{3, 4});
  const std::string path = (directory_ / "rows.tokens").string();
  EXPECT_THAT([&] { open("other"); }, ThrowsMessage<Error>(path + ": has key key, expected other"));
  EXPECT_THAT([&] { open("key", 259, 2); },
              ThrowsMessage<Error>(path + ": is made from 1 files, expected 2"));
  EXPECT_THAT([&] { open("key", 8); },
              ThrowsMessage<Error>(path + ": token id 8 is outside the model's vocabulary of 8"));
  put("rows.tokens", "a text of some forty bytes, not of tokens");
  EXPECT_THAT([&] { open(); }, ThrowsMessage<Error>(path + ": is no file of tokens"));
}

}  // namespace
}  // namespace parhelion::train
