#include "exec/cpu/kernels/attention.h"
#include "exec/cpu/kernels/attention_grad.h"
#include "exec/cpu/kernels/sampling.h"
#include "support/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kWidth = 16;
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

/// Numbers between guards: reading one makes a result NaN, writing one is seen.
class Fenced {
 public:
  Fenced(std::int64_t count, float value)
      : numbers_(static_cast<std::size_t>(count + 2 * kFence), kGuard), count_(count) {
    std::fill_n(data(), count, value);
  }
  float* data() { return numbers_.data() + kFence; }
  bool is_intact() const {
    const auto is_guard = [](float x) { return std::isnan(x); };
    return std::all_of(numbers_.begin(), numbers_.begin() + kFence, is_guard) &&
           std::all_of(numbers_.end() - kFence, numbers_.end(), is_guard);
  }
  bool is_finite() {
    return std::all_of(data(), data() + count_, [](float x) { return std::isfinite(x); });
  }

 private:
  static constexpr std::int64_t kFence = 4096;
  static constexpr float kGuard = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers_;
  std::int64_t count_;
};

const std::vector<std::vector<std::int32_t>> kHostileSpans = {
    {0, 3, 6},  {-3, 2, 9},   {4, 2, 5},          {0, 100, 3},           {7, 8, 9},
    {6, -1, 6}, {0, 6, 6000}, {kLeast, kMost, 0}, {kMost, kLeast, kMost}};

struct Made {
  Fenced q{kTokens * kWidth, 0.5f}, k{kTokens * kWidth, 0.25f}, v{kTokens * kWidth, 2.0f};
  Fenced o{kTokens * kWidth, 7.0f}, lse{kTokens, 7.0f};
  test::Tensor<unsigned char> scratch{1 << 22, 0};
  AttentionShape shape{ir::Kind::f32, kTokens, 1, 1, kWidth, 0.25f};

  Attention attention(const std::vector<std::int32_t>& indptr) {
    return {shape,  q.data(),      k.data(), v.data(), kWidth,    kWidth,
            kWidth, indptr.data(), 2,        o.data(), lse.data()};
  }
};

TEST(AttentionBounds, SpansOutsideTheTokensAreCut) {
  for (const auto& indptr : kHostileSpans) {
    Made made;
    attention(made.attention(indptr), made.scratch.data(), 1);
    EXPECT_TRUE(made.o.is_intact() && made.lse.is_intact());
    EXPECT_TRUE(made.o.is_finite() && made.lse.is_finite());
  }
}

TEST(AttentionBounds, TheirGradientsAreCutToo) {
  for (const auto& indptr : kHostileSpans) {
    Made made;
    const Attention forward = made.attention(indptr);
    attention(forward, made.scratch.data(), 1);
    Fenced d_o(kTokens * kWidth, 1.0f), dq(kTokens * kWidth, 7.0f), dk(kTokens * kWidth, 7.0f),
        dv(kTokens * kWidth, 7.0f);
    attention_grad({forward, d_o.data(), dq.data(), dk.data(), dv.data()}, made.scratch.data(), 1);
    for (Fenced* gradient : {&dq, &dk, &dv})
      EXPECT_TRUE(gradient->is_intact() && gradient->is_finite());
  }
}

TEST(AttentionBounds, RowsLengthsAndPagesAreCut) {
  constexpr std::int64_t kPages = 3, kPageTokens = 4;
  for (const auto& indptr : kHostileSpans) {
    for (const std::int32_t length : {kLeast, -1, 0, 5, 9, kMost}) {
      Made made;
      Fenced keys(kPages * kPageTokens * kWidth, 0.25f),
          values(kPages * kPageTokens * kWidth, 2.0f);
      const std::vector<std::int32_t> table = {1, kMost, kLeast, 2};
      const std::vector<std::int32_t> lengths = {length, 5};
      paged_attention(
          {made.shape, made.q.data(), kWidth, keys.data(), values.data(), kPages, kPageTokens,
           table.data(), 2, indptr.data(), lengths.data(), 2, made.o.data()},
          made.scratch.data(), 1);
      EXPECT_TRUE(made.o.is_intact());
      EXPECT_TRUE(made.o.is_finite());
    }
  }
}

TEST(SamplingBounds, AMinPThatIsNoNumberKeepsTheLargest) {
  const std::vector<float> logits = {0, 3, 1, 2};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float temperature = 1, top_p = 1;
  const std::int32_t top_k = 0;
  std::int32_t id = -2;
  float log_probability = 0;
  const std::uint64_t seed = 1;
  Sampling args;
  args.logits = logits.data();
  args.rows = 1;
  args.vocabulary = 4;
  args.temperature = &temperature;
  args.top_k = &top_k;
  args.top_p = &top_p;
  args.min_p = &nan;
  args.seed = &seed;
  args.offset = &seed;
  args.ids = &id;
  args.log_probability = &log_probability;
  test::Tensor<unsigned char> scratch(static_cast<std::int64_t>(sample_scratch_bytes(1, 4, 1)), 0);
  sample(args, scratch.data(), 1);
  EXPECT_EQ(id, 1);
}

}  // namespace
}  // namespace parhelion::exec::cpu
