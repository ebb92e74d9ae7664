#pragma once

#include "exec/cpu/kernels/attention_scratch.h"

namespace parhelion::exec::cpu {

/// One worker's memory for a tile of the gradient, carved from scratch.
struct AttentionGradTile {
  std::int64_t rows = 0;        ///< in use
  std::int64_t row_stride = 0;  ///< rows, rounded up to 4
  std::int64_t d = 0;
  float* q = nullptr;             ///< [rows, d]
  float* d_o = nullptr;           ///< [rows, d]
  float* q_columns = nullptr;     ///< [d, row_stride]
  float* d_o_columns = nullptr;   ///< [d, row_stride]
  float* p = nullptr;             ///< [kAttentionBlock, row_stride]
  float* ds = nullptr;            ///< [kAttentionBlock, row_stride]
  float* dq = nullptr;            ///< [rows, d]
  float* lse = nullptr;           ///< [row_stride]
  float* delta = nullptr;         ///< [row_stride]
  std::int32_t* first = nullptr;  ///< the row sees keys [first, limit) of its sequence
  std::int32_t* limit = nullptr;
  float* wide_k = nullptr;  ///< [kAttentionBlock, d]
  float* wide_v = nullptr;  ///< [kAttentionBlock, d]
  const float* k[kAttentionBlock] = {};
  const float* v[kAttentionBlock] = {};
};

/// Floats of one worker.
inline std::int64_t attention_grad_tile_floats(std::int64_t d) {
  return kAttentionTileRows * (5 * d + 2 * kAttentionBlock + 4) + 2 * kAttentionBlock * d;
}

inline AttentionGradTile carve_attention_grad_tile(float* at, std::int64_t d) {
  AttentionGradTile tile;
  const auto take = [&](std::int64_t count) {
    float* taken = at;
    at += count;
    return taken;
  };
  tile.d = d;
  for (float** rows : {&tile.q, &tile.d_o, &tile.q_columns, &tile.d_o_columns, &tile.dq}) {
    *rows = take(kAttentionTileRows * d);
  }
  for (float** keys : {&tile.p, &tile.ds}) *keys = take(kAttentionTileRows * kAttentionBlock);
  for (float** row : {&tile.lse, &tile.delta}) *row = take(kAttentionTileRows);
  tile.first = reinterpret_cast<std::int32_t*>(take(kAttentionTileRows));
  tile.limit = reinterpret_cast<std::int32_t*>(take(kAttentionTileRows));
  for (float** wide : {&tile.wide_k, &tile.wide_v}) *wide = take(kAttentionBlock * d);
  return tile;
}

}  // namespace parhelion::exec::cpu
