#include "exec/cpu/kernels/page_write.h"

#include "support/tensor.h"

namespace parhelion::exec::cpu {
namespace {

TEST(PageWrite, WritesEachTokenToItsLocationAndKeepsTheRest) {
  const auto x = test::normal_tensor<float>(4 * 10, 1);  // four tokens of 6, 10 elements apart
  test::Tensor<float> pages(8 * 6, 9.0f);
  const std::vector<std::int64_t> location = {7, -1, 0, 3};
  page_write({ir::Kind::f32, x.data(), location.data(), pages.data(), 4, 6, 10, 8}, 2);
  for (std::int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(pages[7 * 6 + c], x[c]);
    EXPECT_EQ(pages[c], x[2 * 10 + c]);
    EXPECT_EQ(pages[3 * 6 + c], x[3 * 10 + c]);
    EXPECT_EQ(pages[6 + c], 9.0f);
  }
}

TEST(PageWrite, LeavesOutLocationsBeyondThePages) {
  const auto x = test::normal_tensor<BFloat16>(2 * 6, 1);
  test::Tensor<BFloat16> pages(2 * 6);
  const std::vector<std::int64_t> location = {2, -7};
  page_write({ir::Kind::bf16, x.data(), location.data(), pages.data(), 2, 6, 6, 2}, 1);
  EXPECT_TRUE(test::same_bits(pages, test::Tensor<BFloat16>(2 * 6)));
}

}  // namespace
}  // namespace parhelion::exec::cpu
