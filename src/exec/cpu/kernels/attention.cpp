#include "exec/cpu/kernels/attention.h"

#include "exec/cpu/kernels/attention_scratch.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/attention-inl.h"
#include "exec/cpu/kernels/attention_span.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

/// Keys of a packed document.
template <class T>
struct AttentionPackedKeys {
  const T* k;
  const T* v;
  std::int64_t k_stride;
  std::int64_t v_stride;

  const T* key(std::int64_t position) const { return k + position * k_stride; }
  const T* value(std::int64_t position) const { return v + position * v_stride; }
};

/// Keys of a row's pages.
template <class T>
struct AttentionPagedKeys {
  const T* k;
  const T* v;
  const std::int32_t* page_table;
  std::int64_t pages;
  std::int64_t page_tokens;
  std::int64_t stride;

  std::int64_t offset(std::int64_t position) const {
    const std::int64_t page = page_table[position / page_tokens];
    const std::int64_t safe = page >= 0 && page < pages ? page : 0;
    return (safe * page_tokens + position % page_tokens) * stride;
  }
  const T* key(std::int64_t position) const { return k + offset(position); }
  const T* value(std::int64_t position) const { return v + offset(position); }
};

/// Fills a tile with the queries of `work` and their limits.
template <class T>
HWY_INLINE void attention_load(const AttentionShape& shape, const AttentionWork& work, const T* q,
                               std::int64_t q_stride, AttentionTile& tile) {
  shape_attention_tile(tile, work.rows);
  std::fill_n(tile.q, tile.d * tile.row_stride, 0.0f);
  std::fill_n(tile.acc, tile.rows * tile.d, 0.0f);
  std::fill_n(tile.max, tile.row_stride, kAttentionLowest);
  std::fill_n(tile.sum, tile.row_stride, 0.0f);
  std::fill_n(tile.first, tile.row_stride, 0);
  std::fill_n(tile.limit, tile.row_stride, 0);
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const AttentionQuery query = attention_query(shape, work, r);
    const T* from = q + query.token * q_stride + query.head * tile.d;
    const std::int64_t row = tile.has_few_rows() ? tile.d : 1;
    const std::int64_t column = tile.has_few_rows() ? 1 : tile.row_stride;
    for (std::int64_t c = 0; c < tile.d; ++c) tile.q[r * row + c * column] = widen(from[c]);
    tile.first[r] = query.seen.first;
    tile.limit[r] = query.seen.limit;
  }
}

template <class T, class Source>
HWY_INLINE void attention_tile(const AttentionShape& shape, const AttentionWork& work,
                               const Source& source, AttentionTile& tile, T* o, float* lse) {
  attention_fold(source, tile, shape.scale);
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const AttentionQuery query = attention_query(shape, work, r);
    const std::int64_t at = query.token * shape.query_heads + query.head;
    attention_finish(tile, r, o + at * tile.d, lse == nullptr ? nullptr : lse + at);
  }
}

void attention_packed_tile(const Attention& args, const AttentionWork& work, float* scratch) {
  with_storage(args.shape.kind, [&](auto type) {
    using T = decltype(type);
    const std::int64_t d = args.shape.d;
    AttentionTile tile = carve_attention_tile(scratch, d);
    attention_load(args.shape, work, static_cast<const T*>(args.q), args.q_stride, tile);
    const std::int64_t token = work.span.first_token;
    const AttentionPackedKeys<T> source = {
        static_cast<const T*>(args.k) + token * args.k_stride + work.kv_head * d,
        static_cast<const T*>(args.v) + token * args.v_stride + work.kv_head * d, args.k_stride,
        args.v_stride};
    attention_tile(args.shape, work, source, tile, static_cast<T*>(args.o), args.lse);
  });
}

void attention_paged_tile(const PagedAttention& args, const AttentionWork& work, float* scratch) {
  with_storage(args.shape.kind, [&](auto type) {
    using T = decltype(type);
    const std::int64_t d = args.shape.d;
    AttentionTile tile = carve_attention_tile(scratch, d);
    attention_load(args.shape, work, static_cast<const T*>(args.q), args.q_stride, tile);
    const AttentionPagedKeys<T> source = {
        static_cast<const T*>(args.key_pages) + work.kv_head * d,
        static_cast<const T*>(args.value_pages) + work.kv_head * d,
        args.page_table + work.span.index * args.pages_per_row,
        args.pages,
        args.page_tokens,
        args.shape.kv_heads * d};
    attention_tile(args.shape, work, source, tile, static_cast<T*>(args.o), nullptr);
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(attention_packed_tile);
HWY_EXPORT(attention_paged_tile);

namespace {

/// Zeroes what belongs to no span: tokens [begin, tokens).
void attention_clear(const AttentionShape& shape, std::int64_t begin, void* o, float* lse) {
  const std::int64_t rows = std::max<std::int64_t>(shape.tokens - begin, 0) * shape.query_heads;
  with_storage(shape.kind, [&](auto type) {
    using T = decltype(type);
    std::fill_n(static_cast<T*>(o) + begin * shape.query_heads * shape.d, rows * shape.d, T{});
  });
  if (lse != nullptr) std::fill_n(lse + begin * shape.query_heads, rows, 0.0f);
}

template <class SpanOf, class Run>
void attention_run(const AttentionShape& shape, std::int64_t spans, const SpanOf& span_of,
                   void* scratch, int threads, const Run& run) {
  const std::int64_t items = attention_work_count(shape, spans, span_of);
  parallel_items(items, threads, [&](std::int64_t item, int worker) {
    const AttentionWork work = attention_work(shape, span_of, items - 1 - item);
    run(work, static_cast<float*>(scratch) + worker * attention_tile_floats(shape.d));
  });
}

}  // namespace

std::size_t attention_scratch_bytes(const AttentionShape& shape, int threads) {
  return static_cast<std::size_t>(std::max(threads, 1) * attention_tile_floats(shape.d)) *
         sizeof(float);
}

void attention(const Attention& args, void* scratch, int threads) {
  const auto span_of = [&](std::int64_t document) {
    return attention_document(args.shape, args.document_indptr, document);
  };
  attention_clear(args.shape,
                  attention_tokens_end(args.shape, args.document_indptr, args.documents), args.o,
                  args.lse);
  attention_run(args.shape, args.documents, span_of, scratch, threads,
                [&](const AttentionWork& work, float* memory) {
                  HWY_DYNAMIC_DISPATCH(attention_packed_tile)(args, work, memory);
                });
}

void paged_attention(const PagedAttention& args, void* scratch, int threads) {
  const std::int64_t capacity = args.pages > 0 ? args.pages_per_row * args.page_tokens : 0;
  const auto span_of = [&](std::int64_t row) {
    const Range tokens = attention_tokens(args.shape, args.query_indptr, row);
    const std::int64_t length = args.kv_length[row];
    return AttentionSpan{row, tokens.begin, tokens.size(), length - tokens.size(),
                         std::min(length, capacity)};
  };
  attention_clear(args.shape, attention_tokens_end(args.shape, args.query_indptr, args.rows),
                  args.o, nullptr);
  attention_run(args.shape, args.rows, span_of, scratch, threads,
                [&](const AttentionWork& work, float* memory) {
                  HWY_DYNAMIC_DISPATCH(attention_paged_tile)(args, work, memory);
                });
}

}  // namespace parhelion::exec::cpu
#endif
