// Times the CPU matmul. Reads cases from standard input, one a line: FORM KIND M N K, where FORM is
// packed, forward, input_grad or weight_grad, KIND is f32 or bf16, and M counts tokens, N output
// and K input features. Answers each line with GFLOP/s, and with GB/s of the weight for few rows.
#include "exec/cpu/kernels/matmul.h"

#include "base/bf16.h"
#include "base/error.h"

#include <fmt/format.h>

#include "measure.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

namespace parhelion::bench {
namespace {

using namespace exec::cpu;

struct Case {
  std::string form;
  ir::Kind kind = ir::Kind::f32;
  std::int64_t tokens = 0, outputs = 0, inputs = 0;
};

Bytes random_matrix(ir::Kind kind, std::int64_t count) {
  Bytes memory(static_cast<std::size_t>(count * ir::element(kind).block_bytes));
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    if (kind == ir::Kind::f32) reinterpret_cast<float*>(memory.data())[i] = value;
    if (kind == ir::Kind::bf16) reinterpret_cast<BFloat16*>(memory.data())[i] = to_bfloat16(value);
  }
  return memory;
}

MatrixView view(Bytes& memory, ir::Kind kind, std::int64_t rows, std::int64_t cols) {
  return {memory.data(), kind, rows, cols, cols, false};
}

MatrixView transposed(MatrixView view) {
  std::swap(view.rows, view.cols);
  view.transposed = !view.transposed;
  return view;
}

// x [tokens, inputs], w [outputs, inputs], y [tokens, outputs].
struct Operands {
  explicit Operands(const Case& c)
      : x(random_matrix(c.kind, c.tokens * c.inputs)),
        w(random_matrix(c.kind, c.outputs * c.inputs)),
        y(random_matrix(c.kind, c.tokens * c.outputs)),
        dw(random_matrix(ir::Kind::f32, c.outputs * c.inputs)) {}
  Bytes x, w, y, dw;
};

MatmulArgs arguments(const Case& c, Operands& operands) {
  const MatrixView x = view(operands.x, c.kind, c.tokens, c.inputs);
  const MatrixView w = view(operands.w, c.kind, c.outputs, c.inputs);
  const MatrixView y = view(operands.y, c.kind, c.tokens, c.outputs);
  if (c.form == "input_grad") return {.a = y, .b = w, .c = {operands.x.data(), c.kind, c.inputs}};
  if (c.form == "weight_grad")
    return {.a = transposed(y),
            .b = x,
            .c = {operands.dw.data(), ir::Kind::f32, c.inputs, OutputMode::accumulate}};
  return {.a = x, .b = transposed(w), .c = {operands.y.data(), c.kind, c.outputs}};
}

double seconds_of(const Case& c, int threads, Tier tier) {
  Operands operands(c);
  MatmulArgs args = arguments(c, operands);
  args.num_threads = threads;
  args.tier = tier;
  const auto b = std::get<MatrixView>(args.b);
  const bool is_packed = c.form == "packed";
  Bytes packed(static_cast<std::size_t>(packed_bytes(tier, c.kind, b.rows, b.cols)));
  if (is_packed) {
    pack(b, tier, threads, packed.span());
    args.b = PackedView{packed.data(), c.kind, b.rows, b.cols};
  }
  Bytes workspace(static_cast<std::size_t>(matmul_workspace_bytes(
      {args.a.rows, b.cols, args.a.cols, c.kind, c.kind, is_packed, threads, tier})));
  args.workspace = workspace.span();
  return best_seconds([&] { matmul(args); });
}

// Bytes per second that `threads` threads read from a buffer larger than any cache.
double read_bandwidth(int threads) {
  constexpr std::int64_t kWords = std::int64_t{1} << 26;
  Bytes memory(kWords * 8);
  std::fill(memory.span().begin(), memory.span().end(), std::byte{1});
  const auto* from = reinterpret_cast<const std::uint64_t*>(memory.data());
  std::uint64_t total = 0;
  const double seconds = best_seconds([&] {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : total)
    for (std::int64_t i = 0; i < kWords; i += 8) {
      total += (from[i] ^ from[i + 1]) + (from[i + 2] ^ from[i + 3]) + (from[i + 4] ^ from[i + 5]) +
               (from[i + 6] ^ from[i + 7]);
    }
  });
  return total == 1 ? 0 : static_cast<double>(kWords) * 8 / seconds;
}

Tier tier_named(const std::string& text) {
  if (text.empty()) return widest_tier();
  for (const Tier tier :
       {Tier::portable, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx_bf16}) {
    if (text == name(tier) && tier <= widest_tier()) return tier;
  }
  fail(ErrorKind::invalid, "matmul: this processor has no tier '{}'", text);
}

void answer(const Case& c, int threads, Tier tier) {
  const double seconds = seconds_of(c, threads, tier);
  const double terms = static_cast<double>(c.tokens * c.outputs * c.inputs);
  const double weight_bytes =
      static_cast<double>(c.outputs * c.inputs * ir::element(c.kind).block_bytes);
  fmt::print("{} {} {} {} {}: {:.1f} GFLOP/s", c.form, ir::name(c.kind), c.tokens, c.outputs,
             c.inputs, 2e-9 * terms / seconds);
  if (c.tokens <= 8) fmt::print(", {:.1f} GB/s", 1e-9 * weight_bytes / seconds);
  fmt::print("\n");
  std::fflush(stdout);
}

void answer_all(int threads, Tier tier) {
  fmt::print("# {}, {} threads, tier {}, reads {:.1f} GB/s\n", processor_name(), threads,
             name(tier), 1e-9 * read_bandwidth(threads));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    Case c;
    std::string kind;
    words >> c.form >> kind >> c.tokens >> c.outputs >> c.inputs;
    c.kind = ir::kind_from_name(kind).value_or(ir::Kind::f32);
    answer(c, threads, tier);
  }
}

}  // namespace
}  // namespace parhelion::bench

// bench_matmul [THREADS [TIER]] < CASES
int main(int argc, char** argv) {
  try {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    parhelion::bench::answer_all(threads, parhelion::bench::tier_named(argc > 2 ? argv[2] : ""));
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
  return 0;
}
