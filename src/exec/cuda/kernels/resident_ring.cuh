#pragma once

#include "exec/cuda/kernels/resident_exchange.cuh"

namespace parhelion::exec::cuda::resident {

/// A stage holds eight rows of 1024 columns of weights, or up to 64 keys or values of a head.
inline constexpr int kTileRows = 8;
inline constexpr int kTileColumns = 1024;
/// Rows lie 64 bytes further than their length, so that reading two of them meets no bank twice.
inline constexpr int kRowBytes = kTileColumns * 2 + 64;
inline constexpr int kStageBytes = kTileRows * kRowBytes;
inline constexpr int kTokenBytes = kColumns * 2;
inline constexpr int kKeyTile = kResidentKeyTile;
inline constexpr int kStageTiles = 4;  ///< of keys
inline constexpr int kStageKeys = kStageTiles * kKeyTile;
inline constexpr int kMostStages = 16;
/// Blocks to a key head, and parts of its keys where there are more than one block takes alone.
inline constexpr int kSplits = kBlocks / kKeyHeads;
inline constexpr int kKeysOfOneBlock = 192;

/// Groups of eight rows of a product that are a block's.
struct GroupRange {
  int first, last;
  __host__ __device__ constexpr GroupRange(int rows, int block)
      : first(block * (rows / kTileRows) / kBlocks),
        last((block + 1) * (rows / kTileRows) / kBlocks) {}
  __host__ __device__ constexpr int first_row() const { return first * kTileRows; }
  __host__ __device__ constexpr int groups() const { return last - first; }
  __host__ __device__ constexpr int rows() const { return groups() * kTileRows; }
};

/// The most rows of a product that a block has.
__host__ __device__ constexpr int most_rows_of(int rows) {
  return (rows / kTileRows + kBlocks - 1) / kBlocks * kTileRows;
}

/// Offsets of what lies in a block's shared memory, after the barriers.
struct SharedLayout {
  int squares = 2 * kMostStages * 8;        ///< [2, kWarps] f32
  int residual = squares + 2 * kWarps * 4;  ///< f32 of this block's rows
  int partials = 0;                         ///< [2, most_rows, kWarps] f32
  int most_rows = 0;                        ///< of a product, in a block
  int input = 0;                            ///< [kWarps, most chunks, kColumns] bf16
  int input_bytes = 0;                      ///< of a warp
  int queries = 0;                          ///< [kWarps, group, kColumns] bf16
  int chances = 0;  ///< [kWarps, group, 12] f32: of eight keys, of those before
  int merged = 0;   ///< [kWarps, group, kColumns + 2] f32
  int ring = 0;

  __host__ __device__ constexpr explicit SharedLayout(const ResidentShape& shape) {
    const int group = shape.group();
    const int qkv = most_rows_of(shape.qkv_rows());
    const int wide = 2 * most_rows_of(shape.mlp);
    const int inner = shape.mlp > shape.attention_columns() ? shape.mlp : shape.attention_columns();
    const int columns = inner > shape.hidden ? inner : shape.hidden;
    most_rows = qkv > wide ? qkv : wide;
    input_bytes = (columns + kTileColumns - 1) / kTileColumns * kTokenBytes;
    partials = residual + (most_rows_of(shape.hidden) * 4 + 15) / 16 * 16;
    input = partials + 2 * most_rows * kWarps * 4;
    queries = input + kWarps * input_bytes;
    chances = queries + kWarps * group * kTokenBytes;
    merged = chances + kWarps * group * 12 * 4;
    ring = (merged + kWarps * group * (kColumns + 2) * 4 + 127) / 128 * 128;
  }
};

/// Stages of shared memory that copies fill and warps empty in turn.
struct Ring {
  std::uint32_t barriers;  ///< of full stages, then of empty ones
  char* memory;
  int stages;

  __device__ __forceinline__ std::uint32_t full(int stage) const {
    return barriers + 8u * static_cast<unsigned>(stage);
  }
  __device__ __forceinline__ std::uint32_t empty(int stage) const {
    return barriers + 8u * static_cast<unsigned>(kMostStages + stage);
  }
  __device__ __forceinline__ char* at(int stage) const {
    return memory + static_cast<std::int64_t>(stage) * kStageBytes;
  }
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < stages; ++stage) {
      barrier_init(full(stage), 1);
      barrier_init(empty(stage), kWarps);
    }
    publish_barriers();
  }
};

/// A place in the order of stages; `parity` says which time round.
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

/// The row as all blocks see it.
struct Row {
  int past = 0;                ///< keys that are read from pages
  bool has_new = false;        ///< whether the row's new token is the key after them
  int splits = 1;              ///< parts of the keys
  int position = 0;            ///< of the row's turns
  std::int64_t location = -1;  ///< where its key and value are written; -1: nowhere

  __device__ __forceinline__ explicit Row(const ResidentRow& row) {
    const bool is_active = row.query_indptr[1] > row.query_indptr[0];
    const int room = row.pages_per_row * row.page_tokens;
    const int length = is_active ? min(max(*row.kv_length, 0), room) : 0;
    const std::int64_t capacity = std::int64_t{row.pages} * row.page_tokens;
    const std::int64_t to = *row.location;
    if (to >= 0 && to < capacity) location = to;
    has_new = length > 0 && location >= 0 && location == place_of(row, length - 1);
    past = length - (has_new ? 1 : 0);
    splits = past <= kKeysOfOneBlock ? 1 : kSplits;
    position = min(max(*row.positions, 0), row.max_position - 1);
  }

  static __device__ __forceinline__ std::int64_t place_of(const ResidentRow& row, int token) {
    return std::int64_t{row.page_table[token / row.page_tokens]} * row.page_tokens +
           token % row.page_tokens;
  }
};

/// Tiles of keys of a split.
struct TileRange {
  int first = 0, last = 0;
  __device__ __forceinline__ TileRange(const Row& row, int split) {
    if (split >= row.splits) return;
    const int tiles = (row.past + kKeyTile - 1) / kKeyTile;
    first = split * tiles / row.splits;
    last = (split + 1) * tiles / row.splits;
  }
};

/// The warp that asks for all that a block reads from memory, in the order in which it is used. It
/// runs ahead as far as the ring has room, whatever the other warps wait for.
class Producer {
 public:
  __device__ __forceinline__ Producer(const ResidentStep& args, const Ring& ring)
      : args_(args),
        shape_(args.shape),
        row_(args.row),
        ring_(ring),
        lane_(static_cast<int>(threadIdx.x) % 32),
        block_(static_cast<int>(blockIdx.x)),
        policy_(streaming_policy()) {}

  __device__ __forceinline__ void run() {
    prefetch_gains(0);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (layer + 1 < shape_.layers) prefetch_gains(layer + 1);
      produce_layer(args_.layers[layer]);
    }
  }

 private:
  __device__ __forceinline__ void produce_layer(const ResidentLayer& layer) {
    qkv(layer);
    cache(layer);
    part(layer.o, shape_.hidden, shape_.attention_columns());
    part(layer.gate, shape_.mlp, shape_.hidden);
    part(layer.up, shape_.mlp, shape_.hidden);
    part(layer.down, shape_.hidden, shape_.mlp);
  }

  __device__ __forceinline__ void qkv(const ResidentLayer& layer) {
    const GroupRange range(shape_.qkv_rows(), block_);
    const int q_rows = shape_.attention_columns();
    constexpr int kKeyRows = kKeyHeads * kColumns;
    for (int group = range.first; group < range.last; ++group) {
      const int row = group * kTileRows;
      const Bf16* weight = layer.q;
      int first = row;
      if (row >= q_rows) weight = layer.k, first = row - q_rows;
      if (row >= q_rows + kKeyRows) weight = layer.v, first = row - q_rows - kKeyRows;
      rows(weight, first, shape_.hidden);
    }
  }

  /// This block's share of a matrix.
  __device__ __forceinline__ void part(const Bf16* weight, int all_rows, int columns) {
    const GroupRange range(all_rows, block_);
    for (int group = range.first; group < range.last; ++group)
      rows(weight, group * kTileRows, columns);
  }

  /// Eight rows.
  __device__ __forceinline__ void rows(const Bf16* weight, int first, int columns) {
    const Bf16* at = weight + std::int64_t{first + lane_ % kTileRows} * columns;
    for (int column = 0; column < columns; column += kTileColumns) {
      const int row_bytes = min(kTileColumns, columns - column) * 2;
      const std::uint32_t to = acquire(kTileRows * row_bytes);
      if (lane_ < kTileRows)
        bulk_copy(to + static_cast<unsigned>(lane_ * kRowBytes), at + column,
                  static_cast<unsigned>(row_bytes), ring_.full(place_.stage), policy_);
      place_.advance(ring_.stages);
    }
  }

  __device__ __forceinline__ void cache(const ResidentLayer& layer) {
    const TileRange range(row_, block_ % kSplits);
    for (int first = range.first; first < range.last; first += kStageTiles) {
      const int tiles = min(kStageTiles, range.last - first);
      const int token = token_of_tile(min(first + lane_, range.last - 1));
      copy_tiles(&layer.key_map, token, tiles);
      copy_tiles(&layer.value_map, token, tiles);
    }
  }

  /// The place of a tile's first token in the pages; outside of them where its page is none.
  __device__ __forceinline__ int token_of_tile(int tile) const {
    const int token = tile * kKeyTile;
    const int page = args_.row.page_table[token / args_.row.page_tokens];
    if (page < 0 || page >= args_.row.pages) return -kKeyTile;
    return page * args_.row.page_tokens + token % args_.row.page_tokens;
  }

  __device__ __forceinline__ void copy_tiles(const TensorMap* map, int token, int tiles) {
    constexpr int kTileBytes = kKeyTile * kTokenBytes;
    const std::uint32_t to = acquire(tiles * kTileBytes);
    if (lane_ < tiles)
      tile_copy(to + static_cast<unsigned>(lane_ * kTileBytes), map, block_ / kSplits, token,
                ring_.full(place_.stage), policy_);
    place_.advance(ring_.stages);
  }

  /// The address of the next stage once it is empty; `bytes` will be copied to it.
  __device__ __forceinline__ std::uint32_t acquire(int bytes) {
    barrier_wait(ring_.empty(place_.stage), place_.parity ^ 1, "an empty stage");
    if (lane_ == 0) barrier_expect(ring_.full(place_.stage), static_cast<unsigned>(bytes));
    __syncwarp();
    return shared_address(ring_.at(place_.stage));
  }

  /// Gains are read when their input has come, too late to wait for memory. A lane has a line.
  __device__ __forceinline__ void prefetch_gains(int layer) const {
    constexpr int kLineNumbers = 64;
    const ResidentLayer& of = args_.layers[layer];
    const int lines = shape_.hidden / kLineNumbers;
    const int line = block_ + lane_ * kBlocks;
    if (line < lines) prefetch(of.gain + line * kLineNumbers);
    if (line < lines) prefetch(of.mlp_gain + line * kLineNumbers);
    if (of.query_gain == nullptr || line >= kColumns / kLineNumbers) return;
    prefetch(of.query_gain + line * kLineNumbers);
    prefetch(of.key_gain + line * kLineNumbers);
  }

  const ResidentStep& args_;
  const ResidentShape& shape_;
  const Row row_;
  Ring ring_;
  int lane_;
  int block_;
  std::uint64_t policy_;
  RingPlace place_;
};

}  // namespace parhelion::exec::cuda::resident
