#include "train/config/name_pattern.h"

#include "train/config/model_settings.h"

#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

TEST(NamePattern, MatchesWholeNames) {
  const NamePattern pattern("a|ab.*", "test");
  EXPECT_TRUE(pattern.matches("a"));
  EXPECT_TRUE(pattern.matches("abc"));
  EXPECT_FALSE(pattern.matches("ac"));
  EXPECT_FALSE(pattern.matches("ba"));
}

TEST(NamePattern, TakesAllProjectionsByDefaultOfLora) {
  const NamePattern pattern(LoraSettings{}.targets, "test");
  EXPECT_TRUE(pattern.matches("model.layers.11.self_attn.q_proj"));
  EXPECT_TRUE(pattern.matches("model.layers.0.mlp.down_proj"));
  EXPECT_FALSE(pattern.matches("model.embed_tokens"));
  EXPECT_FALSE(pattern.matches("lm_head"));
  EXPECT_FALSE(pattern.matches("model.layers.0.mlp.down_proj.weight"));
}

}  // namespace
}  // namespace parhelion::train
