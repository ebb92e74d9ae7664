#include "train/checkpoint/manifest.h"

#include "base/error.h"
#include "base/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>

namespace parhelion::train {
namespace {

using testing::HasSubstr;

Manifest example_manifest() {
  return {.facts = {.step = 123,
                    .tokens_seen = 4'000'000'000'000,
                    .seed = 7,
                    .job_digest = "0123abcd",
                    .job = Json::Object{{"run", Json::Object{{"directory", "a\"b\u00e9"}}}},
                    .data_position = Json::Object{{"epoch", 1}, {"microbatch", 17}},
                    .metrics = Json::Array{0.1, 2.5, -5, nullptr}},
          .files = {{.name = "config.json", .bytes = 3, .xxh128 = std::string(32, '0')},
                    {.name = "optimizer.safetensors", .bytes = 0, .xxh128 = "1"}}};
}

/// The error that reading `text` ends with.
std::optional<Error> refusal(std::string_view text) try {
  parse_manifest(text, "m");
  return std::nullopt;
} catch (const Error& error) {
  return error;
}

/// The text of a manifest with the hash that fits what it says.
std::string sealed(std::string_view text) {
  Json::Object members = parse_json(text, "m").as_object("m");
  std::erase_if(members, [](const Json::Member& member) { return member.first == "xxh128"; });
  const std::string said = write_json(members);
  members.emplace_back("xxh128", hex(hash128(std::as_bytes(std::span(said)))));
  return write_json(members);
}

/// The example's text with `from` replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = manifest_text(example_manifest());
  return sealed(text.replace(text.find(from), from.size(), to));
}

/// A manifest whose only file has this name.
std::string text_with_file(std::string name) {
  Manifest manifest = example_manifest();
  manifest.files = {{.name = std::move(name), .bytes = 1, .xxh128 = ""}};
  return manifest_text(manifest);
}

TEST(Manifest, ReadsBackWhatWasWritten) {
  EXPECT_EQ(parse_manifest(manifest_text(example_manifest()), "m"), example_manifest());
  EXPECT_EQ(parse_manifest(manifest_text({}), "m"), Manifest());
}

TEST(Manifest, FindsEveryTruncation) {
  const std::string text = manifest_text(example_manifest());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    const auto error = refusal(text.substr(0, length));
    ASSERT_TRUE(error.has_value()) << length;
    EXPECT_EQ(error->kind(), ErrorKind::corrupt) << length;
  }
}

TEST(Manifest, FindsEveryChangedBit) {
  std::string text = manifest_text(example_manifest());
  text.pop_back();
  for (char& byte : text) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      EXPECT_TRUE(refusal(text).has_value()) << text;
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
}

TEST(Manifest, RefusesOtherFormatsAndVersionsAsUnsupported) {
  const auto version = refusal(changed("\"version\":1,", "\"version\":2,"));
  EXPECT_EQ(version->kind(), ErrorKind::unsupported);
  EXPECT_STREQ(version->what(), "m: version is 2, this program reads version 1");
  const auto format = refusal(changed("parhelion-training-checkpoint", "other"));
  EXPECT_EQ(format->kind(), ErrorKind::unsupported);
  EXPECT_THAT(format->what(), HasSubstr("m: format is 'other'"));
}

TEST(Manifest, RefusesFilesOutsideItsDirectory) {
  for (const std::string name : {"../x", "/etc/passwd", "a/b", "..", ".", "", "manifest.json"}) {
    const auto error = refusal(text_with_file(name));
    ASSERT_TRUE(error.has_value()) << name;
    EXPECT_EQ(error->kind(), ErrorKind::corrupt);
    EXPECT_THAT(error->what(), HasSubstr("is no name of a file in the checkpoint's own directory"));
  }
  EXPECT_TRUE(refusal(text_with_file(std::string("a\0b", 3))).has_value());
  EXPECT_FALSE(refusal(text_with_file("..x")).has_value());
}

TEST(Manifest, RefusesAFileThatComesTwice) {
  Manifest manifest = example_manifest();
  manifest.files.push_back(manifest.files.front());
  EXPECT_THAT(refusal(manifest_text(manifest))->what(), HasSubstr("'config.json' comes twice"));
}

TEST(Manifest, NamesTheMemberThatIsWrong) {
  EXPECT_STREQ(refusal(changed("\"step\":123", "\"step\":-1"))->what(),
               "m: step is -1, expected an integer in [0, 2^63)");
  EXPECT_STREQ(refusal(changed("\"step\":123", "\"step\":1e3"))->what(),
               "m: step is 1000.0, expected an integer in [0, 2^63)");
  EXPECT_STREQ(refusal(changed("\"step\":123,", ""))->what(), "m: step is missing");
  EXPECT_STREQ(refusal(changed("\"step\":123", "\"step\":123,\"stop\":1"))->what(),
               "m: member 'stop' is unknown");
  EXPECT_STREQ(refusal(changed("\"0123abcd\"", "7"))->what(),
               "m: job_digest is integer, expected string");
  EXPECT_STREQ(refusal(changed("\"bytes\":3", "\"bytes\":3,\"more\":3"))->what(),
               "m: files: member 'more' is unknown");
  EXPECT_STREQ(refusal("[]")->what(), "m: is array, expected object");
  EXPECT_STREQ(refusal(R"({"version":1})")->what(), "m: format is missing");
  EXPECT_STREQ(refusal(R"({"format":"f"})")->what(), "m: xxh128 is missing");
  std::string text = manifest_text(example_manifest());
  EXPECT_STREQ(refusal(text.replace(text.find(":123"), 4, ":124"))->what(),
               "m: its hash does not fit what it says");
}

}  // namespace
}  // namespace parhelion::train
