#include "model/embedding_config.h"

#include "base/error.h"
#include "support/test_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::model {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class EmbeddingConfigTest : public TestDirectory {
 protected:
  void write_modules(const std::string& more = "") const {
    put("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "pool"})" +
                            more + "]");
  }
  void write_pooling(const std::string& modes) const { put("pool/config.json", "{" + modes + "}"); }
  void expect_refusal(const std::string& message) const {
    EXPECT_THAT([&] { read_embedding_config(directory_); },
                ThrowsMessage<Error>(HasSubstr(message)));
  }
};

TEST_F(EmbeddingConfigTest, IsNothingWithoutModules) {
  EXPECT_FALSE(read_embedding_config(directory_).has_value());
}

TEST_F(EmbeddingConfigTest, TellsWhetherVectorsAreNormalised) {
  write_pooling(R"("pooling_mode_lasttoken": true, "pooling_mode_cls_token": false, "other": 3)");
  write_modules();
  EXPECT_EQ(read_embedding_config(directory_), EmbeddingConfig{.normalises = false});
  write_modules(R"(, {"type": "sentence_transformers.models.Normalize", "path": "n"})");
  EXPECT_EQ(read_embedding_config(directory_), EmbeddingConfig{.normalises = true});
}

TEST_F(EmbeddingConfigTest, RefusesOtherPooling) {
  write_modules();
  write_pooling(R"("pooling_mode_mean_tokens": true)");
  expect_refusal("pooling_mode_mean_tokens is set, expected pooling_mode_lasttoken alone");
  write_pooling(R"("pooling_mode_mean_tokens": false)");
  expect_refusal("sets no way of pooling that is known");
}

TEST_F(EmbeddingConfigTest, RefusesOtherModules) {
  write_pooling(R"("pooling_mode_lasttoken": true)");
  write_modules(R"(, {"type": "sentence_transformers.models.Dense", "path": "d"})");
  expect_refusal("has a module of type sentence_transformers.models.Dense");
  put("modules.json", "[]");
  expect_refusal("has no module that pools");
  put("modules.json", R"([{"path": ""}])");
  expect_refusal("a module has no type");
}

}  // namespace
}  // namespace parhelion::model
