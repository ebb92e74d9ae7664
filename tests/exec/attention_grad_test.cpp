#include "exec/cpu/kernels/attention_grad.h"

#include "exec/attention_case.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

template <class T>
struct AttentionGradients {
  test::Tensor<T> dq;
  test::Tensor<T> dk;
  test::Tensor<T> dv;
};

template <class T>
test::Tensor<T> output_gradient(const AttentionCase<T>& made) {
  return test::normal_tensor<T>(made.q.size(), 99);
}

template <class T>
AttentionGradients<T> run_gradient(const AttentionCase<T>& made, int threads) {
  auto forward = run_attention(made, 1);
  const T fill = test::stored<T>(7.0f);
  AttentionGradients<T> grad = {test::Tensor<T>(made.q.size(), fill),
                                test::Tensor<T>(made.k.size(), fill),
                                test::Tensor<T>(made.v.size(), fill)};
  const auto d_o = output_gradient(made);
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(attention_grad_scratch_bytes(made.shape, threads)), 0xff);
  attention_grad(
      {attention_args(made, forward), d_o.data(), grad.dq.data(), grad.dk.data(), grad.dv.data()},
      scratch.data(), threads);
  return grad;
}

/// Gradients in f64, by the formulas, from scores of the whole document.
struct AttentionDoubles {
  std::vector<double> dq;
  std::vector<double> dk;
  std::vector<double> dv;
};

template <class T>
double reference_dot(const test::Tensor<T>& a, std::int64_t a_row, const test::Tensor<T>& b,
                     std::int64_t b_row, std::int64_t d) {
  double dot = 0;
  for (std::int64_t c = 0; c < d; ++c) dot += a.at(a_row * d + c) * b.at(b_row * d + c);
  return dot;
}

/// Adds one query row's part.
template <class T>
void add_reference_row(const AttentionCase<T>& made, const test::Tensor<T>& d_o,
                       std::size_t document, std::int64_t row, AttentionDoubles& grad) {
  const AttentionShape& shape = made.shape;
  const std::int64_t token = row / shape.query_heads;
  const std::int64_t kv_head = row % shape.query_heads / (shape.query_heads / shape.kv_heads);
  const std::int64_t begin = made.indptr[document];
  const std::int64_t end = made.indptr[document + 1];
  const auto o = attention_reference(made, begin, end, token, row % shape.query_heads);
  double delta = 0;
  for (std::int64_t c = 0; c < shape.d; ++c) {
    delta += d_o.at(row * shape.d + c) * o[static_cast<std::size_t>(c)];
  }
  const std::int64_t first = shape.window > 0 ? std::max(begin, token + 1 - shape.window) : begin;
  for (std::int64_t j = first; j < (shape.causal ? token + 1 : end); ++j) {
    const std::int64_t key = j * shape.kv_heads + kv_head;
    const auto scale = static_cast<double>(shape.scale);
    const double p = std::exp(scale * reference_dot(made.q, row, made.k, key, shape.d) - o.back());
    const double ds = p * (reference_dot(d_o, row, made.v, key, shape.d) - delta) * scale;
    for (std::int64_t c = 0; c < shape.d; ++c) {
      const auto query_at = static_cast<std::size_t>(row * shape.d + c);
      const auto key_at = static_cast<std::size_t>(key * shape.d + c);
      grad.dq[query_at] += ds * made.k.at(key * shape.d + c);
      grad.dk[key_at] += ds * made.q.at(row * shape.d + c);
      grad.dv[key_at] += p * d_o.at(row * shape.d + c);
    }
  }
}

template <class T>
AttentionDoubles reference_gradient(const AttentionCase<T>& made) {
  const auto d_o = output_gradient(made);
  const auto q_size = static_cast<std::size_t>(made.q.size());
  const auto k_size = static_cast<std::size_t>(made.k.size());
  AttentionDoubles grad = {std::vector<double>(q_size), std::vector<double>(k_size),
                           std::vector<double>(k_size)};
  for (std::size_t i = 0; i + 1 < made.indptr.size(); ++i) {
    for (std::int64_t row = made.indptr[i] * made.shape.query_heads;
         row < made.indptr[i + 1] * made.shape.query_heads; ++row) {
      add_reference_row(made, d_o, i, row, grad);
    }
  }
  return grad;
}

template <class T>
void expect_gradient(const AttentionCase<T>& made) {
  const auto grad = run_gradient(made, 2);
  const auto want = reference_gradient(made);
  const double bound = 4 * test::tolerance<T>(made.shape.d + 300);
  const auto of = [](const std::vector<double>& values) {
    return [&values](std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
  };
  EXPECT_TRUE(test::is_near(grad.dq, of(want.dq), bound));
  EXPECT_TRUE(test::is_near(grad.dk, of(want.dk), bound));
  EXPECT_TRUE(test::is_near(grad.dv, of(want.dv), bound));
}

TEST(AttentionGrad, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const AttentionHeads heads : {AttentionHeads{6, 2, 16}, {3, 1, 6}, {2, 2, 20}}) {
      expect_gradient(attention_case<float>(heads, {1, 140, 5}, 2, 41));
    }
  });
}

TEST(AttentionGrad, MatchesDoublesInBf16) {
  expect_gradient(attention_case<BFloat16>({3, 1, 64}, {40, 30}, 1, 42));
}

TEST(AttentionGrad, FollowsTheWindowAndTheDirection) {
  auto made = attention_case<float>({4, 2, 16}, {150, 9}, 0, 43);
  for (const std::int64_t window : {1, 7, 131}) {
    made.shape.window = window;
    expect_gradient(made);
  }
  made.shape.window = 0;
  made.shape.causal = false;
  expect_gradient(made);
}

/// sum(do * o) in f64.
double reference_loss(const AttentionCase<float>& made) {
  const auto d_o = output_gradient(made);
  double loss = 0;
  for (std::int64_t row = 0; row < made.indptr.back() * made.shape.query_heads; ++row) {
    const auto o = attention_reference(made, 0, made.indptr.back(), row / made.shape.query_heads,
                                       row % made.shape.query_heads);
    for (std::int64_t c = 0; c < made.shape.d; ++c) {
      loss += d_o.at(row * made.shape.d + c) * o[static_cast<std::size_t>(c)];
    }
  }
  return loss;
}

/// The slope of the loss along one element of a tensor of the case.
double slope(AttentionCase<float>& made, test::Tensor<float>& tensor, std::int64_t i) {
  const float kept = tensor[i];
  tensor[i] = kept + 0x1p-8f;
  const double up = reference_loss(made);
  const double right = tensor.at(i);
  tensor[i] = kept - 0x1p-8f;
  const double down = reference_loss(made);
  const double left = tensor.at(i);
  tensor[i] = kept;
  return (up - down) / (right - left);
}

TEST(AttentionGrad, MatchesFiniteDifferences) {
  auto made = attention_case<float>({4, 2, 8}, {9}, 0, 44);
  const auto grad = run_gradient(made, 1);
  for (std::int64_t i = 0; i < made.q.size(); i += 5) {
    EXPECT_NEAR(grad.dq.at(i), slope(made, made.q, i), 1e-4);
  }
  for (std::int64_t i = 0; i < made.k.size(); i += 3) {
    EXPECT_NEAR(grad.dk.at(i), slope(made, made.k, i), 1e-4);
    EXPECT_NEAR(grad.dv.at(i), slope(made, made.v, i), 1e-4);
  }
}

TEST(AttentionGrad, ZeroesTokensOfNoDocument) {
  const auto made = attention_case<float>({4, 2, 16}, {5}, 3, 45);
  const auto grad = run_gradient(made, 1);
  for (std::int64_t i = 5 * 4 * 16; i < grad.dq.size(); ++i) EXPECT_EQ(grad.dq[i], 0.0f);
  for (std::int64_t i = 5 * 2 * 16; i < grad.dk.size(); ++i) EXPECT_EQ(grad.dk[i], 0.0f);
  for (std::int64_t i = 5 * 2 * 16; i < grad.dv.size(); ++i) EXPECT_EQ(grad.dv[i], 0.0f);
}

TEST(AttentionGrad, KeepsBitsAtAnyThreadCount) {
  const auto made = attention_case<BFloat16>({9, 3, 64}, {200, 1, 77}, 4, 46);
  const auto one = run_gradient(made, 1);
  for (const int threads : {2, 3}) {
    const auto many = run_gradient(made, threads);
    EXPECT_TRUE(test::same_bits(one.dq, many.dq));
    EXPECT_TRUE(test::same_bits(one.dk, many.dk));
    EXPECT_TRUE(test::same_bits(one.dv, many.dv));
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu
