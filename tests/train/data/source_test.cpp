#include "train/data/source.h"

#include "train/data/data_support.h"

#include <fmt/format.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RowReaderTest : public DataFiles {
 protected:
  std::vector<std::string> rows_of(const std::vector<std::filesystem::path>& files,
                                   DataFormat format = DataFormat::automatic) const {
    const std::vector<SourceFile> sources = open_sources(files, format);
    std::vector<SourceText> texts;
    texts.reserve(sources.size());
    for (const SourceFile& source : sources) texts.push_back(source.text());
    RowReader reader(texts);
    std::vector<std::string> rows;
    while (const auto row = reader.next()) {
      rows.push_back(fmt::format("{}:{} {}", row->origin.file, row->origin.line, row->bytes));
    }
    return rows;
  }
};

TEST_F(RowReaderTest, TakesATextFileWhole) {
  EXPECT_THAT(rows_of({put("a.txt", "one\r\n\r\ntwo"), put("b", "three")}),
              ElementsAre("0:0 one\r\n\r\ntwo", "1:0 three"));
}

TEST_F(RowReaderTest, TakesEachLineOfJsonl) {
  EXPECT_THAT(rows_of({put("a.jsonl", "{1}\n{2}\n")}), ElementsAre("0:1 {1}", "0:2 {2}"));
}

TEST_F(RowReaderTest, NeedsNoLineFeedAtTheEnd) {
  EXPECT_THAT(rows_of({put("a.jsonl", "{1}\n{2}")}), ElementsAre("0:1 {1}", "0:2 {2}"));
}

TEST_F(RowReaderTest, CountsBlankLinesAndPassesOverThem) {
  EXPECT_THAT(rows_of({put("a.jsonl", "\n{2}\r\n \t\r\n{4}\n\n")}),
              ElementsAre("0:2 {2}\r", "0:4 {4}"));
}

TEST_F(RowReaderTest, PassesOverAByteOrderMark) {
  EXPECT_THAT(rows_of({put("a.jsonl", "\xEF\xBB\xBF{1}"), put("b.txt", "\xEF\xBB\xBFtwo")}),
              ElementsAre("0:1 {1}", "1:0 two"));
}

TEST_F(RowReaderTest, GivesAnEmptyTextFileAndNothingOfAnEmptyJsonlFile) {
  EXPECT_THAT(rows_of({put("a.jsonl", ""), put("b.txt", ""), put("c.jsonl", "{1}")}),
              ElementsAre("1:0 ", "2:1 {1}"));
  EXPECT_THAT(rows_of({}), IsEmpty());
}

TEST_F(RowReaderTest, TakesTheFormatThatIsAskedFor) {
  EXPECT_THAT(rows_of({put("a.jsonl", "1\n2")}, DataFormat::text), ElementsAre("0:0 1\n2"));
  EXPECT_THAT(rows_of({put("a.txt", "1\n2")}, DataFormat::jsonl), ElementsAre("0:1 1", "0:2 2"));
}

}  // namespace
}  // namespace parhelion::train
