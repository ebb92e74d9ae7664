#include "app/export_model.h"
#include "app/model_files.h"
#include "app/model_test_support.h"
#include "app/tokenizer_files.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "state/convert.h"

#include <gmock/gmock.h>

#include <iterator>

namespace parhelion::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ExportTest : public ModelFilesTest {
 protected:
  void export_model(const std::filesystem::path& source, const std::filesystem::path& destination,
                    ir::Kind kind = ir::Kind::f32,
                    std::int64_t shard_bytes = state::kDefaultShardBytes) const {
    const model::OpenedModel opened = model::open_model(source);
    export_hugging_face(opened, model_files(source), kind, destination, shard_bytes);
  }
};

TEST_F(ExportTest, AGgufFileBecomesTheDirectoryItWasMadeFrom) {
  export_model(tiny_gguf(), directory_ / "out");
  EXPECT_THAT(listing(directory_ / "out"),
              ElementsAre("config.json", "generation_config.json", "model.safetensors",
                          "tokenizer.json", "tokenizer_config.json"));
  EXPECT_EQ(parameter_bytes(directory_ / "out"), parameter_bytes(tiny_directory()));
  const model::Model exported = model::open_model(directory_ / "out").model;
  const model::Model original = model::open_model(tiny_directory()).model;
  EXPECT_EQ(exported.eos_ids, original.eos_ids);
  EXPECT_EQ(exported.max_positions, original.max_positions);
  EXPECT_EQ(load_chat_template(directory_ / "out"), load_chat_template(tiny_directory()));
  const text::Tokenizer tokenizer = load_tokenizer(directory_ / "out");
  const std::string text = "A parhelion <|im_end|>\n is 22\u00b0 away,  isn't it? \u592a\u967d";
  EXPECT_EQ(tokenizer.encode(text), load_tokenizer(tiny_directory()).encode(text));
  EXPECT_EQ(tokenizer.special_ids().pad, load_tokenizer(tiny_gguf()).special_ids().pad);
}

TEST_F(ExportTest, KeepsTheFilesOfADirectoryAndSaysTheElementType) {
  export_model(tiny_directory(), directory_ / "out", ir::Kind::bf16);
  for (const char* name : {"generation_config.json", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_EQ(read_file(directory_ / "out" / name), read_file(tiny_directory() / name));
  const Json config = parse_json(read_file(directory_ / "out" / "config.json"), "config.json");
  EXPECT_EQ(*config.find("dtype"), Json("bfloat16"));
  EXPECT_EQ(config.find("torch_dtype"), nullptr) << "one name is enough";
  EXPECT_EQ(*config.find("hidden_size"), Json(48));
}

TEST_F(ExportTest, RoundsWeightsToBf16) {
  export_model(tiny_directory(), directory_ / "out", ir::Kind::bf16);
  const model::OpenedModel original = model::open_model(tiny_directory());
  const model::OpenedModel exported = model::open_model(directory_ / "out");
  for (const state::TensorView& wide : original.checkpoint.tensors()) {
    const state::TensorView& narrow = exported.checkpoint.at(wide.name);
    ASSERT_EQ(narrow.kind, ir::Kind::bf16);
    std::vector<std::byte> rounded(wide.bytes.size() / 2);
    state::convert(wide.kind, wide.bytes, ir::Kind::bf16, rounded);
    EXPECT_TRUE(std::ranges::equal(narrow.bytes, rounded)) << wide.name;
  }
}

TEST_F(ExportTest, ShardsWithAnIndexWhereOneFileWouldPassTheLimit) {
  export_model(tiny_gguf(), directory_ / "out", ir::Kind::f32, 100'000);
  EXPECT_THAT(listing(directory_ / "out"), Contains("model.safetensors.index.json"));
  EXPECT_THAT(listing(directory_ / "out"), Contains(testing::StartsWith("model-00002-of-")));
  EXPECT_EQ(parameter_bytes(directory_ / "out"), parameter_bytes(tiny_directory()));
}

TEST_F(ExportTest, TakesAnEmptyDirectoryAndMakesItsParents) {
  std::filesystem::create_directories(directory_ / "empty");
  export_model(tiny_directory(), directory_ / "empty");
  export_model(tiny_directory(), directory_ / "a" / "b/");
  for (const char* name : {"empty", "a/b"})
    EXPECT_EQ(parameter_bytes(directory_ / name), parameter_bytes(tiny_directory()));
}

TEST_F(ExportTest, RefusesWhatIsThereAndTouchesNothing) {
  put(directory_ / "full" / "x", "1");
  put(directory_ / "file", "");
  for (const char* name : {"full", "file"}) {
    EXPECT_THAT([&] { export_model(tiny_directory(), directory_ / name); },
                ThrowsMessage<Error>(HasSubstr(std::string(name) + ": is there already")));
  }
  EXPECT_THAT(listing(directory_ / "full"), ElementsAre("x"));
  EXPECT_THAT(listing(directory_), ElementsAre("file", "full"));
}

TEST_F(ExportTest, LeavesNothingWhereTheWeightsDoNotFit) {
  copy_tiny(directory_ / "source");
  Json::Object config = parse_json(read_file(tiny_directory() / "config.json"), "c").as_object("c");
  for (auto& [key, value] : config)
    if (key == "intermediate_size") value = 96;
  put(directory_ / "source" / "config.json", write_json(config));
  EXPECT_THAT([&] { export_model(directory_ / "source", directory_ / "out"); },
              ThrowsMessage<Error>(HasSubstr("has shape [48, 128], expected [48, 96]")));
  EXPECT_THAT(listing(directory_), ElementsAre("source"));
}

}  // namespace
}  // namespace parhelion::app
