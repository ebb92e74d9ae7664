#include "exec/cpu/kernels/edit_logits.h"

#include "support/tensor.h"

#include <limits>

namespace parhelion::exec::cpu {
namespace {

constexpr float kNoLogit = -std::numeric_limits<float>::infinity();

/// Edits of one row of logits.
struct Edits {
  std::vector<std::int32_t> ids = {};
  std::vector<float> bias = {}, scale = {}, subtract = {};
};

test::Tensor<float> edited(const std::vector<float>& logits, const Edits& edits,
                           const std::vector<std::int32_t>& mask) {
  const auto count = static_cast<std::int32_t>(edits.ids.size());
  const std::vector<std::int32_t> indptr = {0, count};
  const auto vocabulary = static_cast<std::int64_t>(logits.size());
  test::Tensor<float> y(vocabulary);
  edit_logits(
      {logits.data(), indptr.data(), edits.ids.data(), edits.bias.data(), edits.scale.data(),
       edits.subtract.data(), mask.data(), y.data(), 1, vocabulary, count},
      1);
  return y;
}

TEST(EditLogits, AddsThenScalesThenSubtracts) {
  // Biases turn the sign of ids 1 and 2, so scaling before adding would show.
  const auto y = edited({1, -1, 1, 2}, {{0, 1, 2}, {1, 3, -3}, {2, 2, 2}, {0.25f, 0.5f, 0}}, {-1});
  EXPECT_EQ(y[0], 2.0f / 2 - 0.25f);
  EXPECT_EQ(y[1], 2.0f / 2 - 0.5f);
  EXPECT_EQ(y[2], -2.0f * 2);
  EXPECT_EQ(y[3], 2.0f);
}

TEST(EditLogits, MasksWhateverTheEditsSay) {
  const auto y = edited({1, 2, 3}, {{1, 2}, {100, 5}, {1, 1}, {0, 0}}, {0b101});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], kNoLogit);
  EXPECT_EQ(y[2], 8.0f);
}

TEST(EditLogits, KeepsTheBitsOfWhatIsNotEdited) {
  auto logits = std::vector<float>(70, -0.0f);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  logits[69] = kNoLogit;
  const auto y = edited(logits, {}, {-1, -1, -1});
  EXPECT_TRUE(test::same_bits(y.data(), logits.data(), 70));
}

TEST(EditLogits, PassesOverIdsOutsideTheVocabulary) {
  const auto y = edited({1, 2}, {{-1, 2, 2000000000}, {5, 5, 5}, {1, 1, 1}, {0, 0, 0}}, {-1});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 2.0f);
}

}  // namespace
}  // namespace parhelion::exec::cpu
