#include "exec/cpu/kernels/drawn_tokens.h"

#include "support/tensor.h"

namespace parhelion::exec::cpu {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(FeedTokens, TakesWhatWasDrawnAndElseTheId) {
  const Ids ids = {10, 11, 12, 13, 14}, source = {-1, 2, 0, 3, 1}, drawn = {40, -1, 42};
  Ids y(5);
  feed_tokens({ids.data(), source.data(), drawn.data(), y.data(), 5, 3});
  EXPECT_EQ(y, (Ids{10, 42, 40, 13, 0}));
}

TEST(KeepTokens, WritesSlotsThatExistAlone) {
  const Ids sampled = {10, 11, 12, -1}, slot = {3, -1, 0, 1};
  test::Tensor<std::int32_t> drawn(3, 9);
  keep_tokens({sampled.data(), slot.data(), drawn.data(), 4, 3});
  EXPECT_EQ(Ids(drawn.data(), drawn.data() + 3), (Ids{12, -1, 9}));
}

}  // namespace
}  // namespace parhelion::exec::cpu
