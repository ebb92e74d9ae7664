#include "base/file.h"
#include "base/json.h"
#include "text/detokenizer.h"
#include "text/encoder.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace parhelion::text {
namespace {

const std::filesystem::path kTokenizers =
    std::filesystem::path(PARHELION_TEST_DATA) / "text" / "tokenizers";

std::vector<TokenId> read_ids(const Json& json) {
  std::vector<TokenId> ids;
  for (const Json& id : json.as_array("ids")) {
    ids.push_back(static_cast<TokenId>(id.as_int64("id")));
  }
  return ids;
}

/// A tokenizer and what Hugging Face makes of texts with it (tests/golden/tokenizer.py).
class GoldenTokenizer : public testing::TestWithParam<std::string> {
 protected:
  Tokenizer tokenizer_ = load_tokenizer_json(read_file(kTokenizers / (GetParam() + ".json")));
  Json golden_ = parse_json(read_file(kTokenizers / (GetParam() + ".golden.json")), "golden");

  /// The member `key` of a case, or `ids`, which stands for an equal one.
  static std::vector<TokenId> expected_ids(const Json& item, std::string_view key) {
    const Json* ids = item.find(key);
    return read_ids(ids != nullptr ? *ids : *item.find("ids"));
  }
};

TEST_P(GoldenTokenizer, EncodesAsTheReference) {
  Encoder encoder(tokenizer_);
  for (const Json& item : golden_.find("cases")->as_array("cases")) {
    const std::string& text = item.find("text")->as_string("text");
    std::vector<TokenId> ids;
    encoder.encode(text, {}, ids);
    EXPECT_EQ(ids, expected_ids(item, "ids")) << text;
    EXPECT_EQ(tokenizer_.encode(text), ids) << text;
  }
}

TEST_P(GoldenTokenizer, TakesSpecialTokensAsTextIfAsked) {
  for (const Json& item : golden_.find("cases")->as_array("cases")) {
    const std::string& text = item.find("text")->as_string("text");
    EXPECT_EQ(tokenizer_.encode(text, {.special_text = SpecialText::plain}),
              expected_ids(item, "plain"))
        << text;
  }
}

TEST_P(GoldenTokenizer, AppliesThePostProcessorIfAsked) {
  for (const Json& item : golden_.find("cases")->as_array("cases")) {
    const std::string& text = item.find("text")->as_string("text");
    EXPECT_EQ(tokenizer_.encode(text, {.frame = Frame::post_processor}),
              expected_ids(item, "framed"))
        << text;
  }
}

TEST_P(GoldenTokenizer, DecodesAsTheReference) {
  for (const Json& item : golden_.find("cases")->as_array("cases")) {
    const std::vector<TokenId> ids = expected_ids(item, "ids");
    const Json* decoded = item.find("decoded");
    const Json* skipped = item.find("skipped");
    if (decoded == nullptr) decoded = item.find("text");
    if (skipped == nullptr) skipped = decoded;
    EXPECT_EQ(tokenizer_.decode(ids), decoded->as_string("decoded"));
    EXPECT_EQ(tokenizer_.decode(ids, SpecialTokens::skip), skipped->as_string("skipped"));
  }
}

TEST_P(GoldenTokenizer, DecodesBrokenCharactersAsTheReference) {
  for (const Json& item : golden_.find("decodings")->as_array("decodings")) {
    const std::vector<TokenId> ids = read_ids(*item.find("ids"));
    Detokenizer detokenizer(tokenizer_);
    std::string streamed;
    for (const TokenId id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.flush();
    EXPECT_EQ(streamed, item.find("text")->as_string("text"));
    EXPECT_EQ(tokenizer_.decode(ids), streamed);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RealAndSmall, GoldenTokenizer,
    testing::Values("smollm2", "gpt2", "llama3", "qwen2", "qwen35", "added_tokens", "ignore_merges",
                    "no_unknown", "unknown", "fused_unknown", "split_removed",
                    "split_removed_inverted", "split_isolated", "split_isolated_inverted",
                    "split_merged_with_previous", "split_merged_with_previous_inverted",
                    "split_merged_with_next", "split_merged_with_next_inverted", "split_contiguous",
                    "split_contiguous_inverted"),
    [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace parhelion::text
