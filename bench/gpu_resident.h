#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <string_view>

namespace parhelion::bench {

/// Blocks of the resident kernel, one to a multiprocessor: so many that every product of the shapes
/// below gives each the same number of whole tiles.
inline constexpr int kBlocks = 128;
inline constexpr int kKeyHeads = 8;
inline constexpr int kSplits = kBlocks / kKeyHeads;  ///< parts of the keys of a head
inline constexpr int kColumns = 128;                 ///< of a head
inline constexpr int kPageTokens = 64;
inline constexpr float kEpsilon = 1e-6f;

using Bf16 = __nv_bfloat16;
/// A payload of 32 bits (two numbers in bf16, or one in f32) below the epoch it was written in.
using Word = std::uint64_t;

/// A dense decoder with norms of queries and keys.
struct DecoderShape {
  int hidden, heads, mlp, layers, vocabulary;

  __host__ __device__ constexpr int attention_columns() const { return heads * kColumns; }
  __host__ __device__ constexpr int qkv_rows() const { return (heads + 2 * kKeyHeads) * kColumns; }
  __host__ __device__ constexpr int gains() const { return 2 * hidden + 2 * kColumns; }
};

/// Parameters and state in device memory, layers one after the other.
struct Decoder {
  DecoderShape shape;
  const Bf16* embedding = nullptr;      ///< [vocabulary, hidden]
  const Bf16* head = nullptr;           ///< [vocabulary, hidden]
  const Bf16* qkv = nullptr;            ///< [layers, qkv_rows, hidden]
  const Bf16* o = nullptr;              ///< [layers, hidden, attention_columns]
  const Bf16* gate_up = nullptr;        ///< [layers, 2 mlp, hidden]: rows of gate, then those of up
  const Bf16* down = nullptr;           ///< [layers, hidden, mlp]
  const Bf16* gains = nullptr;          ///< [layers, gains]: of attention, of the mlp, of q, of k
  const Bf16* last_gain = nullptr;      ///< [hidden]
  Bf16* keys = nullptr;                 ///< [layers, pages, kPageTokens, kKeyHeads, kColumns]
  Bf16* values = nullptr;               ///< as keys
  const std::int32_t* table = nullptr;  ///< [pages]: the page that holds each part of the row
  const float* turns = nullptr;         ///< [positions, kColumns]: cos, then sin
  const std::int32_t* token = nullptr;  ///< [1]
  const std::int32_t* position = nullptr;  ///< [1]: keys before it are in the cache
  int pages = 0;

  __host__ __device__ constexpr std::int64_t cache_numbers() const {  // of a layer
    return std::int64_t{pages} * kPageTokens * kKeyHeads * kColumns;
  }
};

/// What blocks tell each other, in words; each is written once a layer.
struct Exchanged {
  Word* x = nullptr;      ///< [hidden / 2]: the residual before a layer
  Word* qkv = nullptr;    ///< [qkv_rows / 2]
  Word* parts = nullptr;  ///< [kKeyHeads, kSplits, group * kColumns, 2]: output, log2 of its weight
  Word* attended = nullptr;        ///< [attention_columns / 2]
  Word* middle = nullptr;          ///< [hidden / 2]: the residual before the mlp
  Word* activated = nullptr;       ///< [mlp / 2]
  Word* best = nullptr;            ///< [kBlocks, 2]: largest logit, its row
  std::uint32_t* state = nullptr;  ///< [3]: epoch, arrivals before this launch, arrivals
};

enum class Exchange : std::uint8_t {
  words,    ///< a reader polls the words themselves
  counter,  ///< a barrier of all blocks by one counter, then plain reading
  none,     ///< nobody waits, and results are wrong: what streaming and arithmetic take alone
};

struct Choice {
  std::string_view name;
  Exchange exchange = Exchange::words;
  int stages = 0;     ///< of the ring; 0: as many as fit
  bool ahead = true;  ///< weights are asked for before the input of their product has come
  int pause = 0;      ///< ns between two polls
};

/// Points of time of a layer: the input of each of six phases is there, its output is written.
inline constexpr int kMarks = 12;

struct StepArgs {
  Decoder model;
  Exchanged exchanged;
  Exchange exchange = Exchange::words;
  int stages = 0;
  bool ahead = true;
  int pause = 0;
  std::int32_t* answer = nullptr;  ///< [1]
  float* logit = nullptr;          ///< [1]: the answer's
  std::int64_t* marks = nullptr;   ///< [layers, kMarks] in clocks of block 0; null: none
};

/// Ends the program where `status` is an error; `what` names the call.
void check(cudaError_t status, std::string_view what);

/// The deepest ring that fits beside what else the kernel keeps in shared memory.
int most_stages(const DecoderShape& shape);

/// One step of one row: a cooperative launch of kBlocks blocks.
///
/// Needs rows of weights that are multiples of 8 kBlocks, columns of 1024, heads of 2 or 4 a key
/// head.
void launch_step(const StepArgs& args, cudaStream_t stream);

/// `count` exchanges of 1024 numbers, eight of each block, and nothing else. `grid_sync`: by the
/// barrier of cooperative groups, whatever `exchange`.
struct ExchangeArgs {
  Word* words = nullptr;           ///< [2, 512]
  std::uint32_t* state = nullptr;  ///< [3]
  Exchange exchange = Exchange::words;
  bool grid_sync = false;
  int pause = 0;
  int count = 0;
};
void launch_exchanges(const ExchangeArgs& args, cudaStream_t stream);

/// Copies, or reads, `bytes` bytes, a multiple of 16.
void launch_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);
void launch_read(void* sink, const void* from, std::int64_t bytes, cudaStream_t stream);

/// Numbers of a mean and a standard deviation, drawn evenly.
struct Filling {
  float mean = 0.0f;
  float deviation = 1.0f;
  std::uint64_t seed = 0;
};
void fill(Bf16* to, std::int64_t count, const Filling& filling);

/// What the same step gives in f64 without rounding in between; of the last layer but for logits.
struct Reference {
  double* x = nullptr;          ///< [hidden]
  double* qkv = nullptr;        ///< [qkv_rows]: before norms
  double* turned = nullptr;     ///< [qkv_rows]: after norms and rope
  double* attended = nullptr;   ///< [attention_columns]
  double* middle = nullptr;     ///< [hidden]
  double* activated = nullptr;  ///< [mlp]
  double* logits = nullptr;     ///< [vocabulary]
  double* scratch = nullptr;    ///< [2 mlp + 2 hidden]
  double* scores = nullptr;     ///< [heads, positions]
  int positions = 0;
};
void reference_step(const Decoder& model, const Reference& reference);

}  // namespace parhelion::bench
