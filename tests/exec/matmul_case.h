#pragma once

#include "base/bf16.h"
#include "exec/cpu/kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace parhelion::exec::cpu {

/// Aligned memory between two guards, whose bytes `expect_guards` checks.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::int64_t size)
      : storage_(static_cast<std::size_t>(size + 3 * kMatmulAlignment), kGuard), size_(size) {}

  std::span<std::byte> bytes() {
    return {storage_.data() + begin(), static_cast<std::size_t>(size_)};
  }

  void expect_guards() const {
    const auto is_guard = [](std::byte byte) { return byte == kGuard; };
    const auto first = storage_.begin() + begin();
    EXPECT_TRUE(std::all_of(storage_.begin(), first, is_guard)) << "bytes before were written";
    EXPECT_TRUE(std::all_of(first + size_, storage_.end(), is_guard))
        << "bytes behind were written";
  }

 private:
  static constexpr std::byte kGuard{0xa5};

  std::int64_t begin() const {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return 2 * kMatmulAlignment - static_cast<std::int64_t>(address % kMatmulAlignment);
  }

  std::vector<std::byte> storage_;
  std::int64_t size_;
};

/// A matrix of random numbers, with unused elements between its rows in memory.
class TestMatrix {
 public:
  TestMatrix(ir::Kind kind, std::int64_t rows, std::int64_t cols, bool transposed,
             std::uint64_t seed)
      : view_{nullptr, kind, rows, cols, (transposed ? rows : cols) + 3, transposed},
        memory_((transposed ? cols : rows) * view_.row_stride * ir::element(kind).block_bytes) {
    view_.data = memory_.bytes().data();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c)
        set(r, c, scrambled(seed + static_cast<std::uint64_t>(r * 65536 + c)));
    }
  }

  const MatrixView& view() const { return view_; }
  std::byte* data() { return memory_.bytes().data(); }
  void expect_guards() const { memory_.expect_guards(); }

  float at(std::int64_t row, std::int64_t col) {
    const std::byte* from = data() + offset(row, col);
    if (view_.kind == ir::Kind::f32) return load<float>(from);
    return to_float(load<BFloat16>(from));
  }

 private:
  // A number in [-1, 1) that depends on `key` alone.
  static float scrambled(std::uint64_t key) {
    const std::uint64_t bits = (key + 1) * 0x9e3779b97f4a7c15u;
    return static_cast<float>((bits ^ (bits >> 29)) >> 20 & 0xffffff) * 0x1p-23f - 1;
  }

  template <class T>
  static T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  std::int64_t offset(std::int64_t row, std::int64_t col) const {
    const std::int64_t index =
        view_.transposed ? col * view_.row_stride + row : row * view_.row_stride + col;
    return index * ir::element(view_.kind).block_bytes;
  }

  void set(std::int64_t row, std::int64_t col, float value) {
    const BFloat16 half = to_bfloat16(value);
    std::byte* to = data() + offset(row, col);
    if (view_.kind == ir::Kind::f32) std::memcpy(to, &value, sizeof value);
    if (view_.kind == ir::Kind::bf16) std::memcpy(to, &half, sizeof half);
  }

  MatrixView view_;
  GuardedBuffer memory_;
};

/// One product to try.
struct MatmulCase {
  std::int64_t m = 1, n = 1, k = 1;
  ir::Kind a = ir::Kind::f32, b = ir::Kind::f32, c = ir::Kind::f32;
  bool a_transposed = false, b_transposed = true;
  bool packed = false, bias = false, accumulate = false;
  int num_threads = 1;
  Tier tier = widest_tier();
};

/// The tiers that this processor has.
inline std::vector<Tier> supported_tiers() {
  std::vector<Tier> tiers;
  for (const Tier tier :
       {Tier::portable, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx_bf16}) {
    if (tier <= widest_tier()) tiers.push_back(tier);
  }
  return tiers;
}

/// Operands and result of one case. Operands depend on (row, column) alone, so that the rows of a
/// smaller case begin a larger one.
struct MatmulRun {
  explicit MatmulRun(const MatmulCase& c)
      : test(c),
        a(c.a, c.m, c.k, c.a_transposed, 10000000000),
        b(c.b, c.k, c.n, c.b_transposed, 20000000000),
        bias(c.bias ? c.b : ir::Kind::f32, 1, c.n, false, 30000000000),
        before(c.c, c.m, c.n, false, 40000000000),
        after(c.c, c.m, c.n, false, 40000000000) {
    const MatmulShape shape{c.m, c.n, c.k, c.a, c.b, c.packed, c.num_threads, c.tier};
    GuardedBuffer workspace(matmul_workspace_bytes(shape));
    GuardedBuffer packed(packed_bytes(c.tier, c.b, c.k, c.n));
    if (c.packed) pack(b.view(), c.tier, c.num_threads, packed.bytes());
    MatmulArgs args{.a = a.view(),
                    .b = b.view(),
                    .c = {after.data(), c.c, after.view().row_stride,
                          c.accumulate ? OutputMode::accumulate : OutputMode::assign},
                    .workspace = workspace.bytes(),
                    .num_threads = c.num_threads,
                    .tier = c.tier};
    if (c.packed) args.b = PackedView{packed.bytes().data(), c.b, c.k, c.n};
    if (c.bias) args.bias = {bias.data(), bias.view().kind};
    matmul(args);
    workspace.expect_guards();
    packed.expect_guards();
    after.expect_guards();
  }

  MatmulCase test;
  TestMatrix a, b, bias, before, after;
};

/// What becomes of a total: bias, accumulation, rounding.
inline float stored(MatmulRun& run, std::int64_t row, std::int64_t col, float total) {
  if (run.test.bias) total += run.bias.at(0, col);
  if (run.test.accumulate) total = run.before.at(row, col) + total;
  return run.test.c == ir::Kind::bf16 ? to_float(to_bfloat16(total)) : total;
}

/// The contract's result, one scalar at a time; `fused` as the tier's numerics say.
inline float fold_reference(MatmulRun& run, std::int64_t row, std::int64_t col, bool fused) {
  float total = 0;
  for (std::int64_t begin = 0; begin < run.test.k; begin += 256) {
    float sum = 0;
    for (std::int64_t k = begin; k < std::min(begin + 256, run.test.k); ++k) {
      const float x = run.a.at(row, k), y = run.b.at(k, col);
      sum = fused ? std::fma(x, y, sum) : sum + x * y;
    }
    total = begin == 0 ? sum : total + sum;
  }
  return stored(run, row, col, total);
}

/// The result of tiles that sum 32 terms at a time, even and odd ones apart.
inline float tile_reference(MatmulRun& run, std::int64_t row, std::int64_t col) {
  float total = 0;
  for (std::int64_t begin = 0; begin < run.test.k; begin += 32) {
    float sums[2] = {0, 0};
    for (std::int64_t k = begin; k < std::min(begin + 32, run.test.k); ++k)
      sums[k % 2] += run.a.at(row, k) * run.b.at(k, col);
    total += sums[0] + sums[1];
  }
  return stored(run, row, col, total);
}

/// A float64 result, and how far a fold in f32 may be from it.
struct WideReference {
  double value = 0;
  double tolerance = 0;
};

inline WideReference wide_reference(MatmulRun& run, std::int64_t row, std::int64_t col) {
  double value = 0, magnitude = 1e-30;
  const auto add = [&](double term) { value += term, magnitude += std::abs(term); };
  for (std::int64_t k = 0; k < run.test.k; ++k)
    add(double{run.a.at(row, k)} * double{run.b.at(k, col)});
  if (run.test.bias) add(double{run.bias.at(0, col)});
  if (run.test.accumulate) add(double{run.before.at(row, col)});
  const double roundings = static_cast<double>(std::min<std::int64_t>(run.test.k, 256)) +
                           static_cast<double>(run.test.k) / 256 + 4;
  const double last = run.test.c == ir::Kind::bf16 ? 0x1p-8 * std::abs(value) : 0;
  return {value, roundings * 0x1p-24 * magnitude + last};
}

}  // namespace parhelion::exec::cpu
