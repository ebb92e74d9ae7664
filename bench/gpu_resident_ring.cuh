#pragma once

#include "gpu_resident.h"
#include "gpu_resident_exchange.cuh"
#include "gpu_resident_instructions.cuh"

namespace parhelion::bench {

/// A stage holds eight rows of 1024 columns of weights, or a page of keys or of values of a head.
inline constexpr int kTileRows = 8;
inline constexpr int kTileColumns = 1024;
/// Rows lie 64 bytes further than their length, so that reading two of them meets no bank twice.
inline constexpr int kRowBytes = kTileColumns * 2 + 64;
inline constexpr int kStageBytes = kTileRows * kRowBytes;
inline constexpr int kTokenBytes = kColumns * 2;
inline constexpr int kMostStages = 16;

/// Offsets of what lies in a block's shared memory.
struct SharedLayout {
  int opened = 2 * kMostStages * 8;         ///< after the barriers: the phase whose input is there
  int squares = opened + 16;                ///< [2, kWarps] f32
  int residual = squares + 2 * kWarps * 4;  ///< f32 of this block's rows
  int partials = 0;                         ///< [2, most_rows, kWarps] f32
  int most_rows = 0;                        ///< of a product, in a block
  int input = 0;                            ///< [kWarps, most columns / kWarps] bf16
  int input_bytes = 0;                      ///< of a warp
  int queries = 0;                          ///< [kWarps, group, kColumns] bf16
  int chances = 0;  ///< [kWarps, group, 12] f32: of eight keys, of those before
  int merged = 0;   ///< [kWarps, group, kColumns + 2] f32
  int ring = 0;

  __host__ __device__ constexpr explicit SharedLayout(const DecoderShape& shape) {
    const int group = shape.heads / kKeyHeads;
    const int rows = shape.qkv_rows() / kBlocks;
    const int wide = 2 * shape.mlp / kBlocks;
    const int columns =
        shape.mlp > shape.attention_columns() ? shape.mlp : shape.attention_columns();
    most_rows = rows > wide ? rows : wide;
    input_bytes = (columns > shape.hidden ? columns : shape.hidden) / kWarps * 2;
    partials = residual + (shape.hidden / kBlocks * 4 + 15) / 16 * 16;
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

/// Pages of a split of the keys before `position`.
struct PageRange {
  int first, last;
  __device__ __forceinline__ PageRange(int position, int split) {
    const int pages = (position + kPageTokens - 1) / kPageTokens;
    first = split * pages / kSplits;
    last = (split + 1) * pages / kSplits;
  }
};

/// Groups of eight rows of the head that are a block's.
struct HeadRange {
  int first, last;
  __device__ __forceinline__ HeadRange(const DecoderShape& shape, int block) {
    const std::int64_t groups = shape.vocabulary / kTileRows;
    first = static_cast<int>(block * groups / kBlocks);
    last = static_cast<int>((block + 1) * groups / kBlocks);
  }
};

/// The warp that asks for all that a block reads from memory, in the order in which it is used. It
/// runs ahead as far as the ring has room, whatever the other warps wait for.
class Producer {
 public:
  __device__ __forceinline__ Producer(const StepArgs& args, const Ring& ring, const int* opened)
      : args_(args),
        model_(args.model),
        ring_(ring),
        opened_(opened),
        lane_(static_cast<int>(threadIdx.x) % 32),
        block_(static_cast<int>(blockIdx.x)),
        policy_(streaming_policy()) {}

  __device__ __forceinline__ void run() {
    const DecoderShape& shape = model_.shape;
    prefetch_gains(0);
    for (int layer = 0; layer < shape.layers; ++layer) {
      prefetch_gains(layer + 1);
      produce_layer(layer);
    }
    await_opening();
    const HeadRange range(shape, block_);
    rows(model_.head, range.first * kTileRows, (range.last - range.first) * kTileRows,
         shape.hidden);
  }

 private:
  __device__ __forceinline__ void produce_layer(int layer) {
    const DecoderShape& shape = model_.shape;
    const std::int64_t at = layer;
    await_opening();
    part(model_.qkv + at * shape.qkv_rows() * shape.hidden, shape.qkv_rows(), shape.hidden);
    await_opening();
    cache(at * model_.cache_numbers());
    await_opening();
    part(model_.o + at * shape.hidden * shape.attention_columns(), shape.hidden,
         shape.attention_columns());
    await_opening();
    const Bf16* gate = model_.gate_up + at * 2 * shape.mlp * shape.hidden;
    part(gate, shape.mlp, shape.hidden);
    part(gate + std::int64_t{shape.mlp} * shape.hidden, shape.mlp, shape.hidden);
    await_opening();
    part(model_.down + at * shape.hidden * shape.mlp, shape.hidden, shape.mlp);
  }

  /// This block's share of a matrix.
  __device__ __forceinline__ void part(const Bf16* weight, int all_rows, int columns) {
    rows(weight, block_ * (all_rows / kBlocks), all_rows / kBlocks, columns);
  }

  __device__ __forceinline__ void rows(const Bf16* weight, int first, int count, int columns) {
    for (int row = first; row < first + count; row += kTileRows) {
      const Bf16* at = weight + std::int64_t{row + lane_ % kTileRows} * columns;
      for (int column = 0; column < columns; column += kTileColumns) {
        const std::uint32_t to = acquire(kTileRows * kTileColumns * 2);
        if (lane_ < kTileRows)
          bulk_copy(to + static_cast<unsigned>(lane_ * kRowBytes), at + column, kTileColumns * 2,
                    ring_.full(place_.stage), policy_);
        place_.advance(ring_.stages);
      }
    }
  }

  __device__ __forceinline__ void cache(std::int64_t layer_begin) {
    const int position = *model_.position;
    const PageRange range(position, block_ % kSplits);
    for (int page = range.first; page < range.last; ++page) {
      const std::int64_t token = std::int64_t{model_.table[page]} * kPageTokens;
      const std::int64_t from =
          layer_begin + (token * kKeyHeads + block_ / kSplits) * std::int64_t{kColumns};
      const int tokens = min(kPageTokens, position - page * kPageTokens);
      copy_tokens(model_.keys + from, tokens);
      copy_tokens(model_.values + from, tokens);
    }
  }

  __device__ __forceinline__ void copy_tokens(const Bf16* from, int tokens) {
    const std::uint32_t to = acquire(tokens * kTokenBytes);
    for (int token = lane_; token < tokens; token += 32)
      bulk_copy(to + static_cast<unsigned>(token * kTokenBytes),
                from + token * kKeyHeads * kColumns, kTokenBytes, ring_.full(place_.stage),
                policy_);
    place_.advance(ring_.stages);
  }

  /// The address of the next stage once it is empty; `bytes` will be copied to it.
  __device__ __forceinline__ std::uint32_t acquire(int bytes) {
    barrier_wait(ring_.empty(place_.stage), place_.parity ^ 1, "an empty stage");
    if (lane_ == 0) barrier_expect(ring_.full(place_.stage), static_cast<unsigned>(bytes));
    __syncwarp();
    return shared_address(ring_.at(place_.stage));
  }

  /// Gains are read when their input has come, too late to wait for memory.
  __device__ __forceinline__ void prefetch_gains(int layer) const {
    constexpr int kLineNumbers = 64;
    const int from = (block_ + lane_ * kBlocks) * kLineNumbers;
    const int gains = layer < model_.shape.layers ? model_.shape.gains() : 0;
    if (from < gains) prefetch(model_.gains + std::int64_t{layer} * model_.shape.gains() + from);
  }

  /// Where nothing is asked for ahead: waits for the next phase's input.
  __device__ __forceinline__ void await_opening() {
    ++phase_;
    if (args_.ahead) return;
    Watchdog dog;
    while (*static_cast<const volatile int*>(opened_) < phase_) dog.look("the opening of a phase");
    __syncwarp();
  }

  const StepArgs& args_;
  const Decoder& model_;
  Ring ring_;
  const int* opened_;
  int lane_;
  int block_;
  std::uint64_t policy_;
  RingPlace place_;
  int phase_ = 0;
};

}  // namespace parhelion::bench
