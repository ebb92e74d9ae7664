#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>

namespace parhelion::exec::cpu {

/// What packed and paged attention share.
///
/// Query head h reads kv head h / (query_heads / kv_heads). A query at position p of its sequence
/// sees keys [first, limit): limit = p + 1 if causal, else the sequence's length; first = 0, or
/// p + 1 - window where a window is set.
///
/// The fold, for one query and head, all in f32 with bf16 operands widened: keys in blocks of 128
/// from the sequence's own position 0. Each block with a visible key, alone:
///   s[j] = scale * dot(q, k[j])      dot: fma chain from 0, columns ascending
///   mb = max s[j],  p[j] = exp(s[j] - mb),  sb = sum of p[j] from 0, j ascending
///   ob[c] = fma chain of p[j] * v[j, c] from 0, j ascending
/// Blocks merge ascending into m = -infinity, s = 0, acc = 0:
///   M = max(m, mb),  f = exp(m - M),  fb = exp(mb - M)
///   s = fma(sb, fb, s * f),  acc[c] = fma(ob[c], fb, acc[c] * f),  m = M
/// o[c] = acc[c] / s, rounded once;  lse = m + log(s). A query that sees no key gives zeros.
struct AttentionShape {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of q, k, v, o
  std::int64_t tokens = 0;
  std::int64_t query_heads = 0;  ///< a multiple of kv_heads
  std::int64_t kv_heads = 0;
  std::int64_t d = 0;
  float scale = 1.0f;
  std::int64_t window = 0;  ///< keys that a query sees, itself included; 0 = all
  bool causal = true;
};

/// Attention within packed documents.
struct Attention {
  AttentionShape shape;
  const void* q = nullptr;  ///< [tokens, query_heads, d], tokens `q_stride` elements apart
  const void* k = nullptr;  ///< [tokens, kv_heads, d], tokens `k_stride` elements apart
  const void* v = nullptr;  ///< [tokens, kv_heads, d], tokens `v_stride` elements apart
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  const std::int32_t* document_indptr =
      nullptr;  ///< [documents + 1], ascending from 0; cut to [0, tokens]
  std::int64_t documents = 0;
  void* o = nullptr;     ///< [tokens, query_heads, d]; zero for tokens of no document
  float* lse = nullptr;  ///< [tokens, query_heads] or null; zero where no key is seen
};
void attention(const Attention& args, void* scratch, int threads);

/// Attention of new tokens over paged keys and values, which already hold the new tokens' own.
///
/// Row r's queries are its last positions: token query_indptr[r] + i is at position
/// kv_length[r] - (query_indptr[r + 1] - query_indptr[r]) + i. A page id outside [0, pages) is read
/// as page 0.
struct PagedAttention {
  AttentionShape shape;     ///< causal
  const void* q = nullptr;  ///< [tokens, query_heads, d], tokens `q_stride` elements apart
  std::int64_t q_stride = 0;
  const void* key_pages = nullptr;    ///< [pages, page_tokens, kv_heads, d]
  const void* value_pages = nullptr;  ///< [pages, page_tokens, kv_heads, d]
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  const std::int32_t* page_table = nullptr;  ///< [rows, pages_per_row]
  std::int64_t pages_per_row = 0;
  const std::int32_t* query_indptr = nullptr;  ///< [rows + 1], ascending from 0; cut to [0, tokens]
  const std::int32_t* kv_length = nullptr;     ///< [rows]
  std::int64_t rows = 0;
  void* o = nullptr;  ///< [tokens, query_heads, d]; zero for tokens of no row
};
void paged_attention(const PagedAttention& args, void* scratch, int threads);

/// Bytes that attention and paged_attention need, for any lengths.
std::size_t attention_scratch_bytes(const AttentionShape& shape, int threads);

}  // namespace parhelion::exec::cpu
