#pragma once

#include "exec/cpu/kernels/attention.h"
#include "exec/cpu/kernels/attention_scratch.h"
#include "exec/cpu/kernels/range.h"

#include <algorithm>
#include <cstdint>

namespace parhelion::exec::cpu {

/// Queries of one sequence: a packed document, or a row's new tokens.
struct AttentionSpan {
  std::int64_t index = 0;        ///< of the document or row
  std::int64_t first_token = 0;  ///< its first query among all tokens
  std::int64_t query_count = 0;
  std::int64_t first_position = 0;  ///< of its first query in the sequence
  std::int64_t key_count = 0;
};

/// Keys [first, limit) of a sequence; none where first >= limit.
struct AttentionSeen {
  std::int32_t first = 0;
  std::int32_t limit = 0;
};

/// What query `index` of a span sees.
inline AttentionSeen attention_seen(const AttentionShape& shape, const AttentionSpan& span,
                                    std::int64_t index) {
  const std::int64_t position = span.first_position + index;
  const std::int64_t limit = shape.causal ? std::min(position + 1, span.key_count) : span.key_count;
  const std::int64_t first =
      shape.window > 0 ? std::max<std::int64_t>(position + 1 - shape.window, 0) : 0;
  return {static_cast<std::int32_t>(first),
          static_cast<std::int32_t>(std::max<std::int64_t>(limit, 0))};
}

/// One tile: rows [first_row, first_row + rows) of a span, row = query * group + head in the group.
struct AttentionWork {
  AttentionSpan span;
  std::int64_t kv_head = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

inline std::int64_t attention_tiles(const AttentionShape& shape, const AttentionSpan& span) {
  const std::int64_t rows = span.query_count * (shape.query_heads / shape.kv_heads);
  return (rows + kAttentionTileRows - 1) / kAttentionTileRows;
}

/// Tile `index` of a span and kv head.
inline AttentionWork attention_work_of(const AttentionShape& shape, const AttentionSpan& span,
                                       std::int64_t index, std::int64_t kv_head) {
  const std::int64_t rows = span.query_count * (shape.query_heads / shape.kv_heads);
  const std::int64_t first_row = index * kAttentionTileRows;
  return {span, kv_head, first_row, std::min(kAttentionTileRows, rows - first_row)};
}

/// What row r of a tile is.
struct AttentionQuery {
  std::int64_t token = 0;
  std::int64_t head = 0;
  AttentionSeen seen;
};

inline AttentionQuery attention_query(const AttentionShape& shape, const AttentionWork& work,
                                      std::int64_t r) {
  const std::int64_t group = shape.query_heads / shape.kv_heads;
  const std::int64_t index = (work.first_row + r) / group;
  return {work.span.first_token + index, work.kv_head * group + (work.first_row + r) % group,
          attention_seen(shape, work.span, index)};
}

/// The tokens that `indptr` gives span `index`. It is data: what it says is cut to the tokens there
/// are.
inline Range attention_tokens(const AttentionShape& shape, const std::int32_t* indptr,
                              std::int64_t index) {
  const std::int64_t begin = std::clamp<std::int64_t>(indptr[index], 0, shape.tokens);
  return {begin, std::clamp<std::int64_t>(indptr[index + 1], begin, shape.tokens)};
}

/// The first token behind all spans.
inline std::int64_t attention_tokens_end(const AttentionShape& shape, const std::int32_t* indptr,
                                         std::int64_t spans) {
  return spans > 0 ? attention_tokens(shape, indptr, spans - 1).end : 0;
}

/// A packed document as a span.
inline AttentionSpan attention_document(const AttentionShape& shape, const std::int32_t* indptr,
                                        std::int64_t document) {
  const Range tokens = attention_tokens(shape, indptr, document);
  return {document, tokens.begin, tokens.size(), 0, tokens.size()};
}

/// Tiles of all spans and kv heads.
template <class SpanOf>
std::int64_t attention_work_count(const AttentionShape& shape, std::int64_t spans,
                                  const SpanOf& span_of) {
  std::int64_t tiles = 0;
  for (std::int64_t i = 0; i < spans; ++i) tiles += attention_tiles(shape, span_of(i));
  return tiles * shape.kv_heads;
}

/// The tile of `item`, counted by span, then tile, then kv head.
template <class SpanOf>
AttentionWork attention_work(const AttentionShape& shape, const SpanOf& span_of,
                             std::int64_t item) {
  std::int64_t tile = item / shape.kv_heads;
  std::int64_t index = 0;
  while (tile >= attention_tiles(shape, span_of(index))) {
    tile -= attention_tiles(shape, span_of(index));
    ++index;
  }
  return attention_work_of(shape, span_of(index), tile, item % shape.kv_heads);
}

}  // namespace parhelion::exec::cpu
