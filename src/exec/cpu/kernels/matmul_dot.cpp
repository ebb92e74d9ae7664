// Tiles whose step is the product of two bf16 pairs, summed into f32 by one instruction. They are
// written in intrinsics, as nothing else beside Highway is: its release 1.0 has no name for this
// instruction, which doubles the rate of a bf16 matmul. The instruction flushes denormals and
// rounds the two products of a pair in its own order, so these bits have their own numerics id.
#include "exec/cpu/kernels/matmul_dot.h"

#if defined(__x86_64__)

#include <hwy/base.h>

#include <array>
#include <immintrin.h>
#include <utility>

namespace parhelion::exec::cpu {

bool processor_has_bf16_dot() { return __builtin_cpu_supports("avx512bf16") > 0; }

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

namespace {

constexpr std::int64_t kDotLanes = 16;

// total (+)= sum
inline void fold(__m512 sum, bool first, float* total) {
  _mm512_store_ps(total, first ? sum : _mm512_add_ps(_mm512_load_ps(total), sum));
}

// y[r, 0..31] (+)= sum over pairs p of a[p, r] . b[p, 0..31], in 2 * Rows registers.
template <int Rows>
void dot_tile(const TileArgs& args) {
  const auto* a = static_cast<const std::int32_t*>(args.a);  // [pairs, a_pitch]
  const auto* b = static_cast<const std::int32_t*>(args.b);  // [pairs, 32]
  __m512 left_sums[std::size_t{Rows}];
  __m512 right_sums[std::size_t{Rows}];
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) left_sums[r] = right_sums[r] = _mm512_setzero_ps();
  const std::int64_t pairs = (args.depth + 1) / 2;
  for (std::int64_t p = 0; p < pairs; ++p, a += args.a_pitch, b += 2 * kDotLanes) {
    const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + kDotLanes));
#pragma GCC unroll 14
    for (int r = 0; r < Rows; ++r) {
      const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(a[r]));
      left_sums[r] = _mm512_dpbf16_ps(left_sums[r], pair, left);
      right_sums[r] = _mm512_dpbf16_ps(right_sums[r], pair, right);
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) {
    float* total = args.total + r * args.total_pitch;
    fold(left_sums[r], args.first, total);
    fold(right_sums[r], args.first, total + kDotLanes);
  }
}

template <int... Rows>
constexpr std::array<TileFunction, sizeof...(Rows)> dot_table(std::integer_sequence<int, Rows...>) {
  return {&dot_tile<Rows + 1>...};
}

constexpr auto kDotTiles = dot_table(std::make_integer_sequence<int, kDotRows>());

}  // namespace

HWY_POP_ATTRIBUTES

const TileFunction* bf16_dot_tiles() { return kDotTiles.data(); }

}  // namespace parhelion::exec::cpu

#else

namespace parhelion::exec::cpu {

bool processor_has_bf16_dot() { return false; }

const TileFunction* bf16_dot_tiles() { return nullptr; }

}  // namespace parhelion::exec::cpu

#endif
