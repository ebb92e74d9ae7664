#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// What packed and paged attention share. All tensors are dense, [tokens, heads, d].
struct PlainShape {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of q, k, v, o
  std::int64_t tokens = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d = 0;
  float scale = 1.0f;
  std::int64_t window = 0;
};

/// Attention within packed documents. A warp folds one token and query head as the CPU does: keys
/// in blocks of 128 from the document's position 0, each block alone, merged ascending.
struct PlainAttention {
  PlainShape shape;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const std::int32_t* document_indptr = nullptr;  ///< [documents + 1]
  std::int64_t documents = 0;
  void* o = nullptr;     ///< zero for tokens of no document, as is lse
  float* lse = nullptr;  ///< [tokens, query_heads]
};
void plain_attention(const PlainAttention& args, cudaStream_t stream);

/// The same fold, and so the same bits, over pages.
struct PlainPagedAttention {
  PlainShape shape;
  const void* q = nullptr;
  const void* key_pages = nullptr;  ///< [pages, page_tokens, kv_heads, d]
  const void* value_pages = nullptr;
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  const std::int32_t* page_table = nullptr;  ///< [rows, pages_per_row]; pages that are none read 0
  std::int64_t pages_per_row = 0;
  const std::int32_t* query_indptr = nullptr;  ///< [rows + 1]
  const std::int32_t* kv_length = nullptr;     ///< [rows]
  std::int64_t rows = 0;
  void* o = nullptr;  ///< zero for tokens of no row
};
void plain_paged_attention(const PlainPagedAttention& args, cudaStream_t stream);

/// The gradient: dq folds keys ascending, dk and dv fold rows ascending, a row being query * group
/// + head in the group; all in f32, with p recomputed from lse. Tokens of no document give zeros.
struct PlainAttentionGrad {
  PlainAttention forward;     ///< as it ran, with o and lse
  const void* d_o = nullptr;  ///< [tokens, query_heads, d]
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  float* delta = nullptr;  ///< [tokens, query_heads], scratch
};
void plain_attention_grad(const PlainAttentionGrad& args, cudaStream_t stream);

/// The widest head whose rows fit the memory of a block.
inline constexpr std::int64_t kPlainMostColumns = 8192;

}  // namespace parhelion::exec::cuda
