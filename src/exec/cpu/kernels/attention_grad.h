#pragma once

#include "exec/cpu/kernels/attention.h"

#include <cstddef>

namespace parhelion::exec::cpu {

/// The gradient of attention, by blocks of 128 keys and tiles of 64 rows; scores are recomputed:
///   p = exp(scale * dot(q, k) - lse),  delta = sum(do * o),  ds = p * (dot(do, v) - delta) * scale
///   dq = sum over keys of ds * k,  dk = sum over rows of ds * q,  dv = sum over rows of p * do
///
/// All sums are f32 fma chains: dq over keys ascending; dk and dv over rows ascending, a row being
/// query * group + head in the group. Each result is rounded once. Outputs of tokens of no document
/// are zero.
struct AttentionGrad {
  Attention forward;          ///< as it ran, with o and lse
  const void* d_o = nullptr;  ///< [tokens, query_heads, d]
  void* dq = nullptr;         ///< [tokens, query_heads, d]
  void* dk = nullptr;         ///< [tokens, kv_heads, d]
  void* dv = nullptr;         ///< [tokens, kv_heads, d]
};
void attention_grad(const AttentionGrad& args, void* scratch, int threads);

/// Bytes that attention_grad needs.
std::size_t attention_grad_scratch_bytes(const AttentionShape& shape, int threads);

}  // namespace parhelion::exec::cpu
