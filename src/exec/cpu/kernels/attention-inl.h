// The fold of attention.h for a tile of queries of one sequence and one kv head.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_ATTENTION_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_ATTENTION_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_ATTENTION_INL_H_
#endif
// clang-format on

#include "exec/cpu/kernels/attention_few-inl.h"
#include "exec/cpu/kernels/attention_scratch.h"
#include "exec/cpu/kernels/panel-inl.h"
#include "exec/cpu/kernels/simd-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

/// Makes keys [lo, hi) of a block readable. Keys outside are never touched.
template <class Source>
HWY_INLINE void attention_gather(const Source& source, AttentionTile& tile, std::int64_t block,
                                 std::int64_t lo, std::int64_t hi) {
  for (std::int64_t j = lo; j < hi; ++j) {
    const std::int64_t position = block * kAttentionBlock + j;
    tile.k[j] = widened_row(source.key(position), tile.wide_k + j * tile.d, tile.d);
    tile.v[j] = widened_row(source.value(position), tile.wide_v + j * tile.d, tile.d);
  }
}

/// scores[j, r] = dot(k[j], q[r]) for j in [lo, hi).
HWY_INLINE void attention_scores(AttentionTile& tile, std::int64_t lo, std::int64_t hi) {
  const auto key = [&](std::int64_t j) { return tile.k[j]; };
  const auto query = [&](std::int64_t c) { return tile.q + c * tile.row_stride; };
  const PanelProduct<decltype(key), decltype(query)> product = {
      key, 1, query, 0, tile.d, tile.scores, tile.row_stride};
  panel_multiply<PanelStart::zero>(product, lo, hi, tile.row_stride);
}

/// Lanes are rows: turns scores into p, and gives the block's max and sum of each row.
template <class D>
HWY_INLINE void attention_softmax(D d, AttentionTile& tile, std::int64_t row, std::int64_t block,
                                  std::int64_t lo, std::int64_t hi, float scale) {
  const hn::Rebind<std::int32_t, D> d32;
  const auto start = hn::Set(d32, static_cast<std::int32_t>(block * kAttentionBlock));
  const auto first = hn::Sub(hn::LoadU(d32, tile.first + row), start);
  const auto limit = hn::Sub(hn::LoadU(d32, tile.limit + row), start);
  const auto lowest = hn::Set(d, kAttentionLowest);
  const auto factor = hn::Set(d, scale);
  auto block_max = lowest;
  for (std::int64_t j = lo; j < hi; ++j) {
    float* at = tile.scores + j * tile.row_stride + row;
    const auto key = hn::Set(d32, static_cast<std::int32_t>(j));
    const auto is_seen = hn::AndNot(hn::Lt(key, first), hn::Lt(key, limit));
    const auto s =
        hn::IfThenElse(hn::RebindMask(d, is_seen), hn::Mul(hn::LoadU(d, at), factor), lowest);
    hn::StoreU(s, d, at);
    block_max = hn::Max(block_max, s);
  }
  const auto shift = hn::IfThenElse(hn::Eq(block_max, lowest), hn::Zero(d), block_max);
  auto block_sum = hn::Zero(d);
  for (std::int64_t j = lo; j < hi; ++j) {
    float* at = tile.scores + j * tile.row_stride + row;
    const auto p = exp_of(d, hn::Sub(hn::LoadU(d, at), shift));
    hn::StoreU(p, d, at);
    block_sum = hn::Add(block_sum, p);
  }
  hn::StoreU(block_max, d, tile.block_max + row);
  hn::StoreU(block_sum, d, tile.block_sum + row);
}

/// Merges the block's max and sum into the rows' state.
HWY_INLINE void attention_merge_sums(AttentionTile& tile) {
  const hn::CappedTag<float, 4> d;
  const auto lowest = hn::Set(d, kAttentionLowest);
  constexpr std::int64_t kStep = hn::MaxLanes(d);  // row_stride is a multiple of 4
  for (std::int64_t row = 0; row < tile.row_stride; row += kStep) {
    const auto old_max = hn::LoadU(d, tile.max + row);
    const auto block_max = hn::LoadU(d, tile.block_max + row);
    const auto max = hn::Max(old_max, block_max);
    const auto base = hn::IfThenElse(hn::Eq(max, lowest), hn::Zero(d), max);
    const auto keep_old = exp_of(d, hn::Sub(old_max, base));
    const auto keep_block = exp_of(d, hn::Sub(block_max, base));
    const auto old_sum = hn::Mul(hn::LoadU(d, tile.sum + row), keep_old);
    const auto block_sum = hn::LoadU(d, tile.block_sum + row);
    hn::StoreU(hn::MulAdd(block_sum, keep_block, old_sum), d, tile.sum + row);
    hn::StoreU(max, d, tile.max + row);
    hn::StoreU(keep_old, d, tile.keep_old + row);
    hn::StoreU(keep_block, d, tile.keep_block + row);
  }
}

/// The keys of a block that one row sees.
HWY_INLINE AttentionRange attention_range(const AttentionTile& tile, std::int64_t row,
                                          std::int64_t block) {
  const std::int64_t start = block * kAttentionBlock;
  return {std::max<std::int64_t>(tile.first[row] - start, 0),
          std::min<std::int64_t>(tile.limit[row] - start, kAttentionBlock)};
}

/// block_o[r, :] += p of j and r times v[j, :] for rows [row, end) and j in a range.
HWY_INLINE void attention_values(AttentionTile& tile, std::int64_t row, std::int64_t end,
                                 AttentionRange range) {
  if (range.begin >= range.end) return;
  const auto weight = [&](std::int64_t r) { return tile.scores + r * tile.score_row; };
  const auto value = [&](std::int64_t j) { return tile.v[j]; };
  const PanelProduct<decltype(weight), decltype(value)> product = {
      weight, tile.score_key, value, range.begin, range.end, tile.block_o, tile.d};
  panel_multiply<PanelStart::c>(product, row, end, tile.d);
}

/// acc = fma(block_o, keep_block, acc * keep_old) for one row.
HWY_INLINE void attention_merge(AttentionTile& tile, std::int64_t row) {
  const F32 d;
  const Vec32 keep_old = hn::Set(d, tile.keep_old[row]);
  const Vec32 keep_block = hn::Set(d, tile.keep_block[row]);
  float* acc = tile.acc + row * tile.d;
  const float* block_o = tile.block_o + row * tile.d;
  for_vectors(tile.d, [&](std::int64_t c, auto extent) {
    const Vec32 old = hn::Mul(load(d, acc + c, extent), keep_old);
    store(d, hn::MulAdd(load(d, block_o + c, extent), keep_block, old), acc + c, extent);
  });
}

/// The outputs of a few rows: keys that all of them see together, those at the ragged ends row by
/// row.
HWY_INLINE void attention_outputs(AttentionTile& tile, std::int64_t row, std::int64_t end,
                                  std::int64_t block) {
  AttentionRange shared = {0, kAttentionBlock};
  for (std::int64_t r = row; r < end; ++r) {
    const AttentionRange range = attention_range(tile, r, block);
    shared = {std::max(shared.begin, range.begin), std::min(shared.end, range.end)};
  }
  const bool is_shared = shared.begin < shared.end;
  for (std::int64_t r = row; r < end; ++r) {
    const AttentionRange range = attention_range(tile, r, block);
    attention_values(tile, r, r + 1, {range.begin, is_shared ? shared.begin : range.end});
  }
  attention_values(tile, row, end, shared);
  for (std::int64_t r = row; r < end; ++r) {
    const AttentionRange range = attention_range(tile, r, block);
    if (is_shared) attention_values(tile, r, r + 1, {shared.end, range.end});
    if (range.begin < range.end) attention_merge(tile, r);
  }
}

/// Softmax of all rows of the tile.
HWY_INLINE void attention_softmax_rows(AttentionTile& tile, std::int64_t block, std::int64_t lo,
                                       std::int64_t hi, float scale) {
  std::int64_t row = 0;
  for (; row + kLanes <= tile.row_stride; row += kLanes) {
    attention_softmax(F32(), tile, row, block, lo, hi, scale);
  }
  for (; row < tile.row_stride; row += 4) {
    attention_softmax(hn::CappedTag<float, 4>(), tile, row, block, lo, hi, scale);
  }
}

/// Folds every block that the tile sees.
template <class Source>
HWY_INLINE void attention_fold(const Source& source, AttentionTile& tile, float scale) {
  const std::int64_t first = *std::min_element(tile.first, tile.first + tile.rows);
  const std::int64_t limit = *std::max_element(tile.limit, tile.limit + tile.rows);
  for (std::int64_t block = first / kAttentionBlock; block * kAttentionBlock < limit; ++block) {
    const std::int64_t start = block * kAttentionBlock;
    const std::int64_t lo = std::max<std::int64_t>(first - start, 0);
    const std::int64_t hi = std::min(limit - start, kAttentionBlock);
    attention_gather(source, tile, block, lo, hi);
    if (tile.has_few_rows()) {
      attention_few_scores(tile, lo, hi);
      attention_few_softmax(tile, block, lo, hi, scale);
    } else {
      attention_scores(tile, lo, hi);
      attention_softmax_rows(tile, block, lo, hi, scale);
    }
    attention_merge_sums(tile);
    std::fill_n(tile.block_o, tile.rows * tile.d, 0.0f);
    for (std::int64_t row = 0; row < tile.rows; row += kPanelRows) {
      attention_outputs(tile, row, std::min(tile.rows, row + kPanelRows), block);
    }
  }
}

/// o = acc / sum and lse of one row.
template <class T>
HWY_INLINE void attention_finish(const AttentionTile& tile, std::int64_t row, T* o, float* lse) {
  const F32 d;
  const float sum = tile.sum[row];
  const bool is_blind = tile.first[row] >= tile.limit[row];
  if (lse != nullptr) *lse = is_blind ? 0.0f : tile.max[row] + std::log(sum);
  if (is_blind) {
    std::fill_n(o, tile.d, T{});
    return;
  }
  const Vec32 by = hn::Set(d, sum);
  for_vectors(tile.d, [&](std::int64_t c, auto extent) {
    store(d, hn::Div(load(d, tile.acc + row * tile.d + c, extent), by), o + c, extent);
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_ATTENTION_INL_H_
