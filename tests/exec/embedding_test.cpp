#include "exec/cpu/kernels/embedding.h"

#include "support/tensor.h"

namespace parhelion::exec::cpu {
namespace {

TEST(Embedding, GathersRowsAndZeroesUnknownIds) {
  const auto table = test::normal_tensor<BFloat16>(5 * 7, 1);
  const std::vector<std::int32_t> ids = {4, -1, 0, 5, 4};
  test::Tensor<BFloat16> y(5 * 7, to_bfloat16(9.0f));
  embedding({ir::Kind::bf16, ids.data(), table.data(), y.data(), 5, 5, 7}, 2);
  for (std::int64_t c = 0; c < 7; ++c) {
    EXPECT_EQ(y[c], table[4 * 7 + c]);
    EXPECT_EQ(y[7 + c].bits, 0);
    EXPECT_EQ(y[2 * 7 + c], table[c]);
    EXPECT_EQ(y[3 * 7 + c].bits, 0);
    EXPECT_EQ(y[4 * 7 + c], table[4 * 7 + c]);
  }
}

test::Tensor<float> run_embedding_grad(const std::vector<std::int32_t>& ids,
                                       const test::Tensor<float>& dy, std::int64_t hidden,
                                       int threads) {
  test::Tensor<float> acc(11 * hidden, 0.25f);
  embedding_grad({ir::Kind::f32, ids.data(), dy.data(), acc.data(),
                  static_cast<std::int64_t>(ids.size()), 11, hidden},
                 threads);
  return acc;
}

TEST(EmbeddingGrad, AddsInTokenOrderAtAnyThreadCount) {
  std::vector<std::int32_t> ids;
  for (std::int32_t t = 0; t < 900; ++t) ids.push_back(t * 7 % 13 - 1);  // -1 and 11 are none
  const auto dy = test::normal_tensor<float>(900 * 65, 2);
  test::Tensor<float> want(11 * 65, 0.25f);
  for (std::int64_t i = 0; i < dy.size(); ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i / 65)];
    if (id >= 0 && id < 11) want[id * 65 + i % 65] += dy[i];
  }
  EXPECT_TRUE(test::same_bits(run_embedding_grad(ids, dy, 65, 1), want));
  EXPECT_TRUE(test::same_bits(run_embedding_grad(ids, dy, 65, 2), want));
}

}  // namespace
}  // namespace parhelion::exec::cpu
