#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace parhelion::exec::cpu {

/// Keys that are folded alone.
inline constexpr std::int64_t kAttentionBlock = 128;
/// Most rows of a tile; a row is one query token and one query head.
inline constexpr std::int64_t kAttentionTileRows = 64;

/// Keys [begin, end) of a block.
struct AttentionRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Most rows of a tile whose scores have keys as lanes; with more, rows fill the lanes.
inline constexpr std::int64_t kAttentionFewRows = 8;
/// Keys that a tile of few rows holds by columns at a time.
inline constexpr std::int64_t kAttentionColumns = 64;

/// One worker's memory for a tile, carved from scratch.
struct AttentionTile {
  std::int64_t rows = 0;        ///< in use
  std::int64_t row_stride = 0;  ///< rows, rounded up to 4
  std::int64_t d = 0;
  std::int64_t score_row = 0;  ///< floats from a row's score to the next row's
  std::int64_t score_key = 0;  ///< floats from a key's score to the next key's
  float* q = nullptr;          ///< [d, row_stride], or [rows, d] of few rows
  float* scores = nullptr;     ///< [kAttentionBlock, row_stride], or [rows, kAttentionBlock]
  float* columns = nullptr;    ///< [d, kAttentionColumns] of keys, for few rows
  float* acc = nullptr;        ///< [rows, d]
  float* block_o = nullptr;    ///< [rows, d]
  float* max = nullptr;        ///< [row_stride], and so on down to limit
  float* sum = nullptr;
  float* block_max = nullptr;
  float* block_sum = nullptr;
  float* keep_old = nullptr;
  float* keep_block = nullptr;
  std::int32_t* first = nullptr;  ///< the row sees keys [first, limit) of its sequence
  std::int32_t* limit = nullptr;
  float* wide_k = nullptr;  ///< [kAttentionBlock, d]
  float* wide_v = nullptr;  ///< [kAttentionBlock, d]
  const float* k[kAttentionBlock] = {};
  const float* v[kAttentionBlock] = {};

  bool has_few_rows() const { return score_key == 1; }
};

/// Says how many rows the tile has, and so how its scores lie.
inline void shape_attention_tile(AttentionTile& tile, std::int64_t rows) {
  const bool is_few = rows <= kAttentionFewRows;
  tile.rows = rows;
  tile.row_stride = (rows + 3) / 4 * 4;
  tile.score_row = is_few ? kAttentionBlock : 1;
  tile.score_key = is_few ? 1 : tile.row_stride;
}

/// Floats of one worker.
inline std::int64_t attention_tile_floats(std::int64_t d) {
  return kAttentionTileRows * (3 * d + kAttentionBlock + 8) + kAttentionColumns * d +
         2 * kAttentionBlock * d;
}

inline AttentionTile carve_attention_tile(float* at, std::int64_t d) {
  AttentionTile tile;
  const auto take = [&](std::int64_t count) {
    float* taken = at;
    at += count;
    return taken;
  };
  tile.d = d;
  tile.q = take(kAttentionTileRows * d);
  tile.scores = take(kAttentionTileRows * kAttentionBlock);
  tile.acc = take(kAttentionTileRows * d);
  tile.block_o = take(kAttentionTileRows * d);
  tile.max = take(kAttentionTileRows);
  tile.sum = take(kAttentionTileRows);
  tile.block_max = take(kAttentionTileRows);
  tile.block_sum = take(kAttentionTileRows);
  tile.keep_old = take(kAttentionTileRows);
  tile.keep_block = take(kAttentionTileRows);
  tile.first = reinterpret_cast<std::int32_t*>(take(kAttentionTileRows));
  tile.limit = reinterpret_cast<std::int32_t*>(take(kAttentionTileRows));
  tile.columns = take(kAttentionColumns * d);
  tile.wide_k = take(kAttentionBlock * d);
  tile.wide_v = take(kAttentionBlock * d);
  return tile;
}

}  // namespace parhelion::exec::cpu
