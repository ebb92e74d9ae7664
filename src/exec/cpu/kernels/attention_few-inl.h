// Scores of a tile of few rows, as in decode: lanes are keys. Each element has the bits that
// attention-inl.h gives it with rows as lanes.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_ATTENTION_FEW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_ATTENTION_FEW_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_ATTENTION_FEW_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_ATTENTION_FEW_INL_H_
#endif
// clang-format on

#include "exec/cpu/kernels/attention_scratch.h"
#include "exec/cpu/kernels/panel-inl.h"
#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

constexpr float kAttentionLowest = -std::numeric_limits<float>::infinity();

#if HWY_TARGET == HWY_SCALAR

/// out[c, lane] = keys[lane][c] for kLanes keys.
HWY_INLINE void attention_few_transpose(const float* const* keys, std::int64_t d_count,
                                        float* out) {
  for (std::int64_t c = 0; c < d_count; ++c) out[c * kAttentionColumns] = keys[0][c];
}

#else

/// Columns [c, c + 4) of every fourth key from keys[0] on, a block of four lanes each.
template <class D>
HWY_INLINE hn::Vec<D> attention_few_load(D d, const float* const* keys, std::int64_t c) {
  constexpr std::size_t kCount = hn::MaxLanes(D());
  if constexpr (kCount == 4) {
    return hn::LoadU(d, keys[0] + c);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, attention_few_load(half, keys + kCount / 2, c),
                       attention_few_load(half, keys, c));
  }
}

/// out[c, lane] = keys[lane][c] for kLanes keys.
HWY_INLINE void attention_few_transpose(const float* const* keys, std::int64_t d_count,
                                        float* out) {
  const F32 d;
  const hn::Repartition<std::uint64_t, F32> d64;
  std::int64_t c = 0;
  for (; c + 4 <= d_count; c += 4) {
    const Vec32 k0 = attention_few_load(d, keys, c);
    const Vec32 k1 = attention_few_load(d, keys + 1, c);
    const Vec32 k2 = attention_few_load(d, keys + 2, c);
    const Vec32 k3 = attention_few_load(d, keys + 3, c);
    const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, k0, k1));
    const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, k2, k3));
    const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, k0, k1));
    const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, k2, k3));
    float* at = out + c * kAttentionColumns;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, at);
    at += kAttentionColumns;
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d, at);
    at += kAttentionColumns;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d, at);
    at += kAttentionColumns;
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d, at);
  }
  for (; c < d_count; ++c) {
    for (std::int64_t i = 0; i < kLanes; ++i) out[c * kAttentionColumns + i] = keys[i][c];
  }
}

#endif

/// The first key of the vector that holds key j.
HWY_INLINE std::int64_t attention_few_start(std::int64_t j) { return j / kLanes * kLanes; }

/// scores[r, j] = dot(q[r], k[j]) for j in [lo, hi), and unused numbers up to full vectors.
HWY_INLINE void attention_few_scores(AttentionTile& tile, std::int64_t lo, std::int64_t hi) {
  const auto query = [&](std::int64_t r) { return tile.q + r * tile.d; };
  const auto column = [&](std::int64_t c) { return tile.columns + c * kAttentionColumns; };
  for (std::int64_t start = attention_few_start(lo); start < hi; start += kAttentionColumns) {
    std::int64_t filled = 0;
    for (; filled < kAttentionColumns && start + filled < hi; filled += kLanes) {
      const float* keys[static_cast<std::size_t>(kLanes)];
      for (std::int64_t i = 0; i < kLanes; ++i) {
        keys[i] = tile.k[std::clamp(start + filled + i, lo, hi - 1)];
      }
      attention_few_transpose(keys, tile.d, tile.columns + filled);
    }
    const PanelProduct<decltype(query), decltype(column)> product = {
        query, 1, column, 0, tile.d, tile.scores + start, tile.score_row};
    panel_multiply<PanelStart::zero>(product, 0, tile.rows, filled);
  }
}

/// The sum of p from 0, ascending, of each row.
HWY_INLINE void attention_few_sums(AttentionTile& tile, std::int64_t lo, std::int64_t hi) {
  float sum[kAttentionFewRows] = {};
  for (std::int64_t j = lo; j < hi; ++j) {
    for (std::int64_t r = 0; r < tile.rows; ++r) sum[r] += tile.scores[r * tile.score_row + j];
  }
  std::copy_n(sum, tile.row_stride, tile.block_sum);
}

/// Turns one row's scores into p, and gives the block's max.
HWY_INLINE void attention_few_weights(AttentionTile& tile, std::int64_t row, std::int64_t block,
                                      std::int64_t lo, std::int64_t hi, float scale) {
  const F32 d;
  const hn::Rebind<std::int32_t, F32> d32;
  const auto start = static_cast<std::int32_t>(block * kAttentionBlock);
  const auto first = hn::Set(d32, tile.first[row] - start);
  const auto limit = hn::Set(d32, tile.limit[row] - start);
  const Vec32 lowest = hn::Set(d, kAttentionLowest);
  const Vec32 factor = hn::Set(d, scale);
  float* scores = tile.scores + row * tile.score_row;
  Vec32 max = lowest;
  for (std::int64_t j = attention_few_start(lo); j < hi; j += kLanes) {
    const auto key = hn::Iota(d32, static_cast<std::int32_t>(j));
    const auto is_seen = hn::AndNot(hn::Lt(key, first), hn::Lt(key, limit));
    const Vec32 s = hn::IfThenElse(hn::RebindMask(d, is_seen),
                                   hn::Mul(hn::LoadU(d, scores + j), factor), lowest);
    hn::StoreU(s, d, scores + j);
    max = hn::Max(max, s);
  }
  const float block_max = hn::GetLane(hn::MaxOfLanes(d, max));
  const Vec32 shift = hn::Set(d, block_max == kAttentionLowest ? 0.0f : block_max);
  for (std::int64_t j = attention_few_start(lo); j < hi; j += kLanes) {
    hn::StoreU(exp_of(d, hn::Sub(hn::LoadU(d, scores + j), shift)), d, scores + j);
  }
  tile.block_max[row] = block_max;
}

/// Softmax of all rows of the tile.
HWY_INLINE void attention_few_softmax(AttentionTile& tile, std::int64_t block, std::int64_t lo,
                                      std::int64_t hi, float scale) {
  std::fill_n(tile.block_max, tile.row_stride, kAttentionLowest);
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    attention_few_weights(tile, row, block, lo, hi, scale);
  }
  attention_few_sums(tile, lo, hi);
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_ATTENTION_FEW_INL_H_
