// Times the CPU kernels that work row by row, with the bytes that each must move.
// Usage: bench_rows [threads].
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/log_sum_exp.h"
#include "exec/cpu/kernels/rms_norm.h"
#include "exec/cpu/kernels/rms_norm_grad.h"
#include "exec/cpu/kernels/rope.h"
#include "exec/cpu/kernels/sampling.h"
#include "exec/cpu/kernels/swiglu.h"

#include <fmt/format.h>

#include "measure.h"
#include <cstring>
#include <string_view>

namespace {

using namespace parhelion;
using namespace parhelion::exec::cpu;

constexpr std::int64_t kRows = 512;
constexpr std::int64_t kHidden = 576;
constexpr std::int64_t kInner = 1536;

void report(std::string_view name, ir::Kind kind, double seconds, double elements) {
  const double bytes = elements * ir::element(kind).block_bytes;
  fmt::print("{:16} {:4} {:9.1f} us {:6.1f} GB/s {:5.2f} elements/ns\n", name, ir::name(kind),
             seconds * 1e6, bytes / seconds * 1e-9, elements / seconds * 1e-9);
}

/// Operands of any kernel: three matrices of numbers near 1.
struct Operands {
  explicit Operands(ir::Kind of, std::int64_t count)
      : kind(of), a(bytes_of(count)), b(bytes_of(count)), c(bytes_of(count)) {
    const auto values = bench::normal_floats(count);
    for (std::byte* to : {a.data(), b.data(), c.data()}) {
      if (kind == ir::Kind::f32) std::memcpy(to, values.data(), bytes_of(count));
      if (kind == ir::Kind::bf16) cast({ir::Kind::f32, kind, values.data(), to, count}, 1);
    }
  }
  std::size_t bytes_of(std::int64_t count) const {
    return static_cast<std::size_t>(count * ir::element(kind).block_bytes);
  }
  ir::Kind kind;
  bench::Bytes a, b, c;
};

void time_norms(ir::Kind kind, int threads) {
  Operands with(kind, kRows * kHidden);
  const auto elements = static_cast<double>(kRows * kHidden);
  const RmsNorm norm = {kind, with.a.data(), with.b.data(), with.c.data(), kRows, kHidden, 1e-5f};
  report("rms_norm", kind, bench::best_seconds([&] { rms_norm(norm, threads); }), 2 * elements);
  const AddRmsNorm fused = {norm, with.b.data(), with.b.data()};
  fill(kind, 0.0f, with.b.data(), kRows * kHidden, 1);
  report("add_rms_norm", kind, bench::best_seconds([&] { add_rms_norm(fused, threads); }),
         4 * elements);
  const RmsNormGrad grad = {kind,          with.a.data(), with.b.data(), with.a.data(),
                            with.c.data(), kRows,         kHidden,       1e-5f};
  report("rms_norm_grad", kind, bench::best_seconds([&] { rms_norm_grad(grad, threads); }),
         3 * elements);
}

void time_swiglu(ir::Kind kind, int threads) {
  Operands with(kind, kRows * kInner);
  const Swiglu args = {kind,  with.a.data(), with.b.data(), with.c.data(),
                       kRows, kInner,        kInner,        kInner};
  report("swiglu", kind, bench::best_seconds([&] { swiglu(args, threads); }), 3.0 * kRows * kInner);
  const SwigluGrad grad = {args, with.c.data(), with.c.data(), with.c.data()};
  report("swiglu_grad", kind, bench::best_seconds([&] { swiglu_grad(grad, threads); }),
         5.0 * kRows * kInner);
}

void time_rope(ir::Kind kind, int threads) {
  Operands with(kind, kRows * kHidden);
  const auto table = bench::normal_floats(kRows * 64);
  std::vector<std::int32_t> positions(kRows);
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
  const Rope args = {kind,
                     RopeDirection::forward,
                     with.a.data(),
                     positions.data(),
                     table.data(),
                     with.c.data(),
                     kRows,
                     kHidden / 64,
                     64,
                     kRows,
                     kHidden};
  report("rope", kind, bench::best_seconds([&] { rope(args, threads); }), 2.0 * kRows * kHidden);
  const Binary sum = {kind, with.a.data(), with.b.data(), with.c.data(), kRows * kHidden};
  report("add", kind, bench::best_seconds([&] { add(sum, threads); }), 3.0 * kRows * kHidden);
}

void time_logits(std::int64_t vocabulary, int threads) {
  constexpr std::int64_t kLogitRows = 8;
  const auto logits = bench::normal_floats(kLogitRows * vocabulary);
  std::vector<float> lse(kLogitRows);
  const LogitRows rows = {logits.data(), kLogitRows, vocabulary};
  report(fmt::format("lse {}", vocabulary), ir::Kind::f32,
         bench::best_seconds([&] { log_sum_exp(rows, lse.data(), threads); }),
         static_cast<double>(kLogitRows * vocabulary));
  const std::vector<std::int32_t> labels(kLogitRows, 5);
  auto d = logits;
  report("cross_entropy_d", ir::Kind::f32, bench::best_seconds([&] {
           cross_entropy_grad(
               {rows, lse.data(), labels.data(), lse.data(), ir::Kind::f32, d.data()}, threads);
         }),
         static_cast<double>(2 * kLogitRows * vocabulary));
}

void time_sampling(std::int64_t vocabulary, float temperature, float top_p, std::int32_t top_k) {
  const auto logits = bench::normal_floats(vocabulary);
  const float min_p = 0;
  const std::uint64_t seed = 1, offset = 2;
  std::int32_t id = 0;
  float log_probability = 0;
  bench::Bytes scratch(sample_scratch_bytes(1, vocabulary, 1));
  const Sampling args = {logits.data(), &temperature, &top_k,           &top_p, &min_p,    &seed,
                         &offset,       &id,          &log_probability, 1,      vocabulary};
  report(fmt::format("sample t{} p{} k{}", temperature, top_p, top_k), ir::Kind::f32,
         bench::best_seconds([&] { sample(args, scratch.data(), 1); }),
         static_cast<double>(vocabulary));
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  fmt::print("{}, {} threads, {} rows, hidden {}, inner {}\n", bench::processor_name(), threads,
             kRows, kHidden, kInner);
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    time_norms(kind, threads);
    time_swiglu(kind, threads);
    time_rope(kind, threads);
  }
  for (const std::int64_t vocabulary : {49152, 151936}) time_logits(vocabulary, threads);
  time_sampling(49152, 0.0f, 1.0f, 0);
  time_sampling(49152, 0.8f, 1.0f, 0);
  time_sampling(49152, 0.8f, 0.95f, 0);
  time_sampling(49152, 0.8f, 0.95f, 40);
}
