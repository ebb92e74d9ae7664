#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Blocks of the resident kernel, one to a multiprocessor.
inline constexpr int kResidentBlocks = 128;
inline constexpr int kResidentKeyHeads = 8;
inline constexpr int kResidentColumns = 128;     ///< of a head
inline constexpr int kResidentKeyTile = 16;      ///< tokens of a page that are copied at once
inline constexpr int kMostResidentLayers = 64;   ///< as many as a launch's parameters hold
inline constexpr int kLeastResidentRows = 1024;  ///< of a product: eight in each block

/// A payload of 32 bits (two numbers in bf16, or one in f32) below the epoch it was written in.
using ResidentWord = std::uint64_t;

/// Sizes of every layer of a dense decoder. hidden and mlp are multiples of 128.
struct ResidentShape {
  int hidden = 0, heads = 0, mlp = 0, layers = 0;

  __host__ __device__ constexpr int group() const { return heads / kResidentKeyHeads; }
  __host__ __device__ constexpr int attention_columns() const { return heads * kResidentColumns; }
  __host__ __device__ constexpr int qkv_rows() const {
    return (heads + 2 * kResidentKeyHeads) * kResidentColumns;
  }
};

/// What a driver's tensor map is to a kernel.
struct alignas(64) TensorMap {
  std::byte bytes[128];
};

/// Parameters and pages of a layer. Weights are [rows, columns].
struct ResidentLayer {
  TensorMap key_map;    ///< of `keys` as [tokens, heads, columns], in tiles of one head
  TensorMap value_map;  ///< of `values`
  const __nv_bfloat16 *q, *k, *v, *o, *gate, *up, *down;
  const __nv_bfloat16* gain;        ///< [hidden]: before attention
  const __nv_bfloat16* mlp_gain;    ///< [hidden]
  const __nv_bfloat16* query_gain;  ///< [kResidentColumns]; null: queries and keys have no norm
  const __nv_bfloat16* key_gain;
  __nv_bfloat16 *keys, *values;  ///< [pages, page_tokens, kResidentKeyHeads, kResidentColumns]
};

/// The one row of a step, on the device, and where it lies in pages.
struct ResidentRow {
  const std::int32_t* positions = nullptr;     ///< [1]
  const std::int64_t* location = nullptr;      ///< [1]; outside the pages: nothing is written
  const std::int32_t* page_table = nullptr;    ///< [pages_per_row]; what is no page reads 0
  const std::int32_t* query_indptr = nullptr;  ///< [2]
  const std::int32_t* kv_length = nullptr;     ///< [1]
  const float* turns = nullptr;                ///< [max_position, kResidentColumns]: cos, sin
  int max_position = 0;
  int pages = 0, page_tokens = 0, pages_per_row = 0;
};

/// What blocks tell each other, in words; each is written once a layer. It stays between launches.
struct ResidentWords {
  ResidentWord* x = nullptr;          ///< [hidden / 2]: the residual after a layer
  ResidentWord* qkv = nullptr;        ///< [qkv_rows / 2]
  ResidentWord* parts = nullptr;      ///< [blocks, group * columns, 2]: output, log2 of its weight
  ResidentWord* attended = nullptr;   ///< [attention_columns / 2]
  ResidentWord* middle = nullptr;     ///< [hidden / 2]: the residual before the mlp
  ResidentWord* activated = nullptr;  ///< [mlp / 2]
  std::uint32_t* epoch = nullptr;     ///< [1]: the last one of the launch before
};

/// One row through layers of a dense decoder and the norm after them, as one kernel: x and the last
/// residual and its norm are [hidden]. The outputs may lie where x lies.
struct ResidentStep {
  ResidentShape shape;
  const __nv_bfloat16* x = nullptr;
  const __nv_bfloat16* last_gain = nullptr;  ///< [hidden]
  __nv_bfloat16* residual = nullptr;
  __nv_bfloat16* normed = nullptr;
  float eps = 0.0f, head_eps = 0.0f;
  float scale = 0.0f;  ///< of scores
  ResidentRow row;
  ResidentWords words;
  int stages = 0;  ///< of the ring
  ResidentLayer layers[kMostResidentLayers] = {};
};

/// Bytes of words, aligned to 256; they begin as zeros.
std::int64_t resident_bytes(const ResidentShape& shape);
/// Words that lie in `memory`.
ResidentWords resident_words(const ResidentShape& shape, std::byte* memory);

/// The deepest ring that fits beside what else a block keeps in shared memory; a ring of less than
/// three stages is none.
int resident_stages(const ResidentShape& shape);

/// Whether there is a kernel for so many query heads to a key head.
bool has_resident_group(int group);

/// A cooperative launch: an error where the device cannot hold all blocks at once.
void resident_step(const ResidentStep& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
