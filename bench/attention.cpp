// Times CPU attention: packed prefill, decode over pages, and the gradient, beside the f32 matmul
// of the same processor and threads. Usage: bench_attention [threads].
#include "exec/cpu/kernels/attention.h"

#include "base/random.h"
#include "exec/cpu/kernels/attention_grad.h"
#include "exec/cpu/kernels/matmul.h"

#include <fmt/format.h>

#include "measure.h"
#include <cstdlib>

namespace {

using namespace parhelion;
using namespace parhelion::exec::cpu;

struct Heads {
  std::int64_t query = 9;
  std::int64_t kv = 3;
  std::int64_t d = 64;
};

AttentionShape shape_of(Heads heads, std::int64_t tokens) {
  return {ir::Kind::f32, tokens, heads.query, heads.kv, heads.d, 0.125f};
}

/// Products of visible pairs: two flops in the score and two in the output.
double causal_flops(Heads heads, std::int64_t tokens) {
  const auto pairs = static_cast<double>(tokens * (tokens + 1) / 2);
  return 4 * pairs * static_cast<double>(heads.query * heads.d);
}

double matmul_rate(int threads) {
  constexpr std::int64_t kSize = 768;
  const auto a = bench::normal_floats(kSize * kSize);
  const auto b = bench::normal_floats(kSize * kSize);
  auto c = bench::normal_floats(kSize * kSize);
  const MatmulShape shape = {kSize,         kSize, kSize,   ir::Kind::f32,
                             ir::Kind::f32, false, threads, widest_tier()};
  bench::Bytes workspace(static_cast<std::size_t>(matmul_workspace_bytes(shape)));
  MatmulArgs args;
  args.a = {a.data(), ir::Kind::f32, kSize, kSize, kSize, false};
  args.b = MatrixView{b.data(), ir::Kind::f32, kSize, kSize, kSize, false};
  args.c = {c.data(), ir::Kind::f32, kSize};
  args.workspace = workspace.span();
  args.num_threads = threads;
  args.tier = widest_tier();
  return 2.0 * kSize * kSize * kSize / bench::best_seconds([&] { matmul(args); });
}

void time_packed(Heads heads, std::int64_t tokens, int threads, double peak) {
  const AttentionShape shape = shape_of(heads, tokens);
  const std::int64_t q_row = heads.query * heads.d;
  const std::int64_t kv_row = heads.kv * heads.d;
  const auto q = bench::normal_floats(tokens * q_row);
  const auto k = bench::normal_floats(tokens * kv_row);
  auto o = q, dq = q, dk = k, dv = k;
  std::vector<float> lse(static_cast<std::size_t>(tokens * heads.query));
  const std::vector<std::int32_t> indptr = {0, static_cast<std::int32_t>(tokens)};
  const Attention args = {shape,  q.data(),      k.data(), k.data(), q_row,     kv_row,
                          kv_row, indptr.data(), 1,        o.data(), lse.data()};
  bench::Bytes scratch(attention_scratch_bytes(shape, threads));
  const double forward = bench::best_seconds([&] { attention(args, scratch.data(), threads); });
  bench::Bytes grad_scratch(attention_grad_scratch_bytes(shape, threads));
  const AttentionGrad grad = {args, q.data(), dq.data(), dk.data(), dv.data()};
  const double backward =
      bench::best_seconds([&] { attention_grad(grad, grad_scratch.data(), threads); });
  const double flops = causal_flops(heads, tokens);
  fmt::print(
      "packed {:5} tokens: forward {:7.2f} ms {:6.1f} GFLOP/s {:3.0f} %, gradient {:7.2f} ms "
      "{:6.1f} GFLOP/s {:3.0f} % of matmul\n",
      tokens, forward * 1e3, flops / forward * 1e-9, 100 * flops / forward / peak, backward * 1e3,
      2.5 * flops / backward * 1e-9, 250 * flops / backward / peak);
}

void time_decode(Heads heads, std::int64_t length, std::int64_t rows, int threads) {
  constexpr std::int64_t kPageTokens = 64;
  const std::int64_t per_row = length / kPageTokens;
  const AttentionShape shape = shape_of(heads, rows);
  const std::int64_t q_row = heads.query * heads.d;
  const std::int64_t page = kPageTokens * heads.kv * heads.d;
  const auto q = bench::normal_floats(rows * q_row);
  const auto keys = bench::normal_floats(rows * per_row * page);
  const auto values = keys;
  auto o = q;
  std::vector<std::int32_t> table, indptr = {0}, lengths;
  for (std::int64_t i = 0; i < rows * per_row; ++i) table.push_back(static_cast<std::int32_t>(i));
  for (std::int64_t r = 0; r < rows; ++r) {
    indptr.push_back(static_cast<std::int32_t>(r + 1));
    lengths.push_back(static_cast<std::int32_t>(length));
  }
  bench::Bytes scratch(attention_scratch_bytes(shape, threads));
  const PagedAttention args = {shape,         q.data(),       q_row,          keys.data(),
                               values.data(), rows * per_row, kPageTokens,    table.data(),
                               per_row,       indptr.data(),  lengths.data(), rows,
                               o.data()};
  const double seconds =
      bench::best_seconds([&] { paged_attention(args, scratch.data(), threads); });
  const double bytes = 8.0 * static_cast<double>(rows * length * heads.kv * heads.d);
  fmt::print("decode {:3} rows of {:5} keys: {:8.1f} us {:6.1f} GB/s of keys and values\n", rows,
             length, seconds * 1e6, bytes / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const Heads heads;
  const double peak = matmul_rate(threads);
  fmt::print("{}, {} threads, {} query and {} kv heads of {}, f32\nmatmul {:.1f} GFLOP/s\n",
             bench::processor_name(), threads, heads.query, heads.kv, heads.d, peak * 1e-9);
  for (const std::int64_t tokens : {128, 512, 1024, 2048})
    time_packed(heads, tokens, threads, peak);
  for (const std::int64_t rows : {1, 8}) {
    for (const std::int64_t length : {512, 2048}) time_decode(heads, length, rows, threads);
  }
}
