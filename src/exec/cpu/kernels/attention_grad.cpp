#include "exec/cpu/kernels/attention_grad.h"

#include "exec/cpu/kernels/attention_grad_scratch.h"
#include "exec/cpu/kernels/attention_span.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/attention_grad.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

/// The gradients of one document's keys and values for one kv head, in f32.
struct AttentionGradSums {
  float* dk;  ///< [keys, d]
  float* dv;  ///< [keys, d]
};

/// One row's q and do, as rows and as columns, its delta, lse and limits.
template <class T>
HWY_INLINE void attention_grad_load_row(const AttentionGrad& args, const AttentionWork& work,
                                        AttentionGradTile& tile, std::int64_t r) {
  const F32 vec;
  const AttentionShape& shape = args.forward.shape;
  const AttentionQuery query = attention_query(shape, work, r);
  const T* q = static_cast<const T*>(args.forward.q) + query.token * args.forward.q_stride +
               query.head * tile.d;
  const std::int64_t at = query.token * shape.query_heads + query.head;
  const T* o = static_cast<const T*>(args.forward.o) + at * tile.d;
  const T* d_o = static_cast<const T*>(args.d_o) + at * tile.d;
  for (std::int64_t c = 0; c < tile.d; ++c) {
    tile.q[r * tile.d + c] = tile.q_columns[c * tile.row_stride + r] = widen(q[c]);
    tile.d_o[r * tile.d + c] = tile.d_o_columns[c * tile.row_stride + r] = widen(d_o[c]);
  }
  tile.delta[r] =
      fold_lanes<AddFold>(tile.d, 0.0f, [&](Vec32 partial, std::int64_t c, auto extent) {
        return hn::MulAdd(load(vec, d_o + c, extent), load(vec, o + c, extent), partial);
      });
  tile.lse[r] = args.forward.lse[at];
  tile.first[r] = query.seen.first;
  tile.limit[r] = query.seen.limit;
}

template <class T>
HWY_INLINE void attention_grad_load(const AttentionGrad& args, const AttentionWork& work,
                                    AttentionGradTile& tile) {
  tile.rows = work.rows;
  tile.row_stride = (work.rows + 3) / 4 * 4;
  std::fill_n(tile.q_columns, tile.d * tile.row_stride, 0.0f);
  std::fill_n(tile.d_o_columns, tile.d * tile.row_stride, 0.0f);
  std::fill_n(tile.dq, tile.rows * tile.d, 0.0f);
  std::fill_n(tile.lse, tile.row_stride, 0.0f);
  std::fill_n(tile.delta, tile.row_stride, 0.0f);
  std::fill_n(tile.first, tile.row_stride, 0);
  std::fill_n(tile.limit, tile.row_stride, 0);
  for (std::int64_t r = 0; r < work.rows; ++r) attention_grad_load_row<T>(args, work, tile, r);
}

/// out[j, r] = dot(key row j, column r) for j in [lo, hi).
HWY_INLINE void attention_grad_dots(const AttentionGradTile& tile, const float* const* keys,
                                    const float* columns, float* out, std::int64_t lo,
                                    std::int64_t hi) {
  const auto key = [&](std::int64_t j) { return keys[j]; };
  const auto column = [&](std::int64_t c) { return columns + c * tile.row_stride; };
  const PanelProduct<decltype(key), decltype(column)> product = {key,    1,   column,         0,
                                                                 tile.d, out, tile.row_stride};
  panel_multiply<PanelStart::zero>(product, lo, hi, tile.row_stride);
}

/// Lanes are rows: scores become p, and dot(do, v) becomes ds.
template <class D>
HWY_INLINE void attention_grad_softmax(D d, AttentionGradTile& tile, std::int64_t row,
                                       std::int64_t start, std::int64_t lo, std::int64_t hi,
                                       float scale) {
  const hn::Rebind<std::int32_t, D> d32;
  const auto first = hn::LoadU(d32, tile.first + row);
  const auto limit = hn::LoadU(d32, tile.limit + row);
  const auto factor = hn::Set(d, scale);
  const auto lse = hn::LoadU(d, tile.lse + row);
  const auto delta = hn::LoadU(d, tile.delta + row);
  for (std::int64_t j = lo; j < hi; ++j) {
    float* p_at = tile.p + j * tile.row_stride + row;
    float* ds_at = tile.ds + j * tile.row_stride + row;
    const auto key = hn::Set(d32, static_cast<std::int32_t>(start + j));
    const auto is_seen = hn::RebindMask(d, hn::AndNot(hn::Lt(key, first), hn::Lt(key, limit)));
    const auto p = exp_of(d, hn::MulSub(hn::LoadU(d, p_at), factor, lse));
    const auto ds = hn::Mul(hn::Mul(p, hn::Sub(hn::LoadU(d, ds_at), delta)), factor);
    hn::StoreU(hn::IfThenElseZero(is_seen, p), d, p_at);
    hn::StoreU(hn::IfThenElseZero(is_seen, ds), d, ds_at);
  }
}

/// out[j, :] += sum over r of weight[j, r] * rows[r, :].
HWY_INLINE void attention_grad_keys(const AttentionGradTile& tile, const float* weights,
                                    const float* rows, float* out, std::int64_t lo,
                                    std::int64_t hi) {
  const auto weight = [&](std::int64_t j) { return weights + j * tile.row_stride; };
  const auto value = [&](std::int64_t r) { return rows + r * tile.d; };
  const PanelProduct<decltype(weight), decltype(value)> product = {weight,    1,   value, 0,
                                                                   tile.rows, out, tile.d};
  panel_multiply<PanelStart::c>(product, lo, hi, tile.d);
}

/// dq[r, :] += sum over j of ds[j, r] * k[j, :].
HWY_INLINE void attention_grad_queries(AttentionGradTile& tile, std::int64_t lo, std::int64_t hi) {
  const auto weight = [&](std::int64_t r) { return tile.ds + r; };
  const auto key = [&](std::int64_t j) { return tile.k[j]; };
  const PanelProduct<decltype(weight), decltype(key)> product = {weight, tile.row_stride, key,   lo,
                                                                 hi,     tile.dq,         tile.d};
  panel_multiply<PanelStart::c>(product, 0, tile.rows, tile.d);
}

/// Keys [lo, hi) from position `start` on.
template <class T>
HWY_INLINE void attention_grad_gather(const AttentionGrad& args, const AttentionWork& work,
                                      AttentionGradTile& tile, std::int64_t start, std::int64_t lo,
                                      std::int64_t hi) {
  const std::int64_t d = tile.d;
  const std::int64_t token = work.span.first_token + start;
  const T* k = static_cast<const T*>(args.forward.k) + work.kv_head * d;
  const T* v = static_cast<const T*>(args.forward.v) + work.kv_head * d;
  for (std::int64_t j = lo; j < hi; ++j) {
    const std::int64_t at = token + j;
    tile.k[j] = widened_row(k + at * args.forward.k_stride, tile.wide_k + j * d, d);
    tile.v[j] = widened_row(v + at * args.forward.v_stride, tile.wide_v + j * d, d);
  }
}

template <class T>
HWY_INLINE void attention_grad_block(const AttentionGrad& args, const AttentionWork& work,
                                     AttentionGradTile& tile, std::int64_t start,
                                     AttentionRange range, AttentionGradSums sums) {
  const auto [lo, hi] = range;
  attention_grad_gather<T>(args, work, tile, start, lo, hi);
  attention_grad_dots(tile, tile.k, tile.q_columns, tile.p, lo, hi);
  attention_grad_dots(tile, tile.v, tile.d_o_columns, tile.ds, lo, hi);
  std::int64_t row = 0;
  for (; row + kLanes <= tile.row_stride; row += kLanes) {
    attention_grad_softmax(F32(), tile, row, start, lo, hi, args.forward.shape.scale);
  }
  for (; row < tile.row_stride; row += 4) {
    attention_grad_softmax(hn::CappedTag<float, 4>(), tile, row, start, lo, hi,
                           args.forward.shape.scale);
  }
  attention_grad_keys(tile, tile.p, tile.d_o, sums.dv + start * tile.d, lo, hi);
  attention_grad_keys(tile, tile.ds, tile.q, sums.dk + start * tile.d, lo, hi);
  attention_grad_queries(tile, lo, hi);
}

template <class T>
HWY_INLINE void attention_grad_tile(const AttentionGrad& args, const AttentionWork& work,
                                    AttentionGradTile& tile, AttentionGradSums sums) {
  attention_grad_load<T>(args, work, tile);
  const std::int64_t first = *std::min_element(tile.first, tile.first + tile.rows);
  const std::int64_t limit = *std::max_element(tile.limit, tile.limit + tile.rows);
  for (std::int64_t start = first / kAttentionBlock * kAttentionBlock; start < limit;
       start += kAttentionBlock) {
    const AttentionRange range = {std::max<std::int64_t>(first - start, 0),
                                  std::min(limit - start, kAttentionBlock)};
    attention_grad_block<T>(args, work, tile, start, range, sums);
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const AttentionQuery query = attention_query(args.forward.shape, work, r);
    T* dq = static_cast<T*>(args.dq) +
            (query.token * args.forward.shape.query_heads + query.head) * tile.d;
    for (std::int64_t c = 0; c < tile.d; ++c) dq[c] = narrow<T>(tile.dq[r * tile.d + c]);
  }
}

/// Writes the sums of one document and kv head into dk and dv.
template <class T>
HWY_INLINE void attention_grad_finish(const AttentionGrad& args, const AttentionSpan& span,
                                      std::int64_t kv_head, AttentionGradSums sums) {
  const F32 vec;
  const AttentionShape& shape = args.forward.shape;
  for (std::int64_t j = 0; j < span.key_count; ++j) {
    const std::int64_t at = ((span.first_token + j) * shape.kv_heads + kv_head) * shape.d;
    T* dk = static_cast<T*>(args.dk) + at;
    T* dv = static_cast<T*>(args.dv) + at;
    for_vectors(shape.d, [&](std::int64_t c, auto extent) {
      store(vec, load(vec, sums.dk + j * shape.d + c, extent), dk + c, extent);
      store(vec, load(vec, sums.dv + j * shape.d + c, extent), dv + c, extent);
    });
  }
}

/// All tiles of one document and kv head, ascending. `sums` is [2, tokens, d] of the head.
void attention_grad_document(const AttentionGrad& args, const AttentionSpan& span,
                             std::int64_t kv_head, float* sums, float* scratch) {
  const AttentionShape& shape = args.forward.shape;
  const AttentionGradSums of = {sums + span.first_token * shape.d,
                                sums + (shape.tokens + span.first_token) * shape.d};
  std::fill_n(of.dk, span.key_count * shape.d, 0.0f);
  std::fill_n(of.dv, span.key_count * shape.d, 0.0f);
  with_storage(shape.kind, [&](auto type) {
    using T = decltype(type);
    AttentionGradTile tile = carve_attention_grad_tile(scratch, shape.d);
    for (std::int64_t i = 0; i < attention_tiles(shape, span); ++i) {
      attention_grad_tile<T>(args, attention_work_of(shape, span, i, kv_head), tile, of);
    }
    attention_grad_finish<T>(args, span, kv_head, of);
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(attention_grad_document);

namespace {

std::int64_t attention_grad_sum_floats(const AttentionShape& shape) {
  return 2 * shape.tokens * shape.d;
}

/// Zeroes the gradients of tokens [begin, tokens).
void attention_grad_clear(const AttentionGrad& args, std::int64_t begin) {
  const AttentionShape& shape = args.forward.shape;
  const std::int64_t count = std::max<std::int64_t>(shape.tokens - begin, 0) * shape.d;
  with_storage(shape.kind, [&](auto type) {
    using T = decltype(type);
    const std::int64_t at = begin * shape.d;
    std::fill_n(static_cast<T*>(args.dq) + at * shape.query_heads, count * shape.query_heads, T{});
    std::fill_n(static_cast<T*>(args.dk) + at * shape.kv_heads, count * shape.kv_heads, T{});
    std::fill_n(static_cast<T*>(args.dv) + at * shape.kv_heads, count * shape.kv_heads, T{});
  });
}

}  // namespace

std::size_t attention_grad_scratch_bytes(const AttentionShape& shape, int threads) {
  const std::int64_t floats = shape.kv_heads * attention_grad_sum_floats(shape) +
                              std::max(threads, 1) * attention_grad_tile_floats(shape.d);
  return static_cast<std::size_t>(floats) * sizeof(float);
}

void attention_grad(const AttentionGrad& args, void* scratch, int threads) {
  const Attention& forward = args.forward;
  const AttentionShape& shape = forward.shape;
  const std::int32_t* indptr = forward.document_indptr;
  attention_grad_clear(args, attention_tokens_end(shape, indptr, forward.documents));
  auto* sums = static_cast<float*>(scratch);
  float* tiles = sums + shape.kv_heads * attention_grad_sum_floats(shape);
  parallel_items(forward.documents * shape.kv_heads, threads, [&](std::int64_t item, int worker) {
    const std::int64_t kv_head = item % shape.kv_heads;
    HWY_DYNAMIC_DISPATCH(attention_grad_document)
    (args, attention_document(shape, indptr, item / shape.kv_heads), kv_head,
     sums + kv_head * attention_grad_sum_floats(shape),
     tiles + worker * attention_grad_tile_floats(shape.d));
  });
}

}  // namespace parhelion::exec::cpu
#endif
