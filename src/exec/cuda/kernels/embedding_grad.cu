#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/embedding.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/part.cuh"

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

namespace parhelion::exec::cuda {
namespace {

constexpr int kIdThreads = 256;
constexpr int kRunThreads = 128;
constexpr int kRunAhead = 16;  // rows of a run that are fetched before they are added

constexpr std::int64_t kTableAlignment = 256;

std::int64_t table_bytes(std::int64_t tokens) {
  const std::int64_t bytes = tokens * static_cast<std::int64_t>(sizeof(std::int32_t));
  return (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

/// The workspace: tokens by id, before and after they are sorted, and room for the sort.
struct IdTables {
  std::uint32_t* ids = nullptr;
  std::uint32_t* sorted_ids = nullptr;
  std::int32_t* tokens = nullptr;
  std::int32_t* sorted_tokens = nullptr;
  std::byte* room = nullptr;
};

IdTables tables_in(std::byte* workspace, std::int64_t tokens) {
  const std::int64_t bytes = table_bytes(tokens);
  return {.ids = reinterpret_cast<std::uint32_t*>(workspace),
          .sorted_ids = reinterpret_cast<std::uint32_t*>(workspace + bytes),
          .tokens = reinterpret_cast<std::int32_t*>(workspace + 2 * bytes),
          .sorted_tokens = reinterpret_cast<std::int32_t*>(workspace + 3 * bytes),
          .room = workspace + 4 * bytes};
}

/// Sorts tokens by id, those of one id ascending; where the room is null, only says its bytes.
std::size_t sort_tokens(const IdTables& tables, std::size_t room_bytes, std::int64_t tokens,
                        std::int64_t vocabulary, cudaStream_t stream) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(vocabulary));
  check(cub::DeviceRadixSort::SortPairs(tables.room, room_bytes, tables.ids, tables.sorted_ids,
                                        tables.tokens, tables.sorted_tokens,
                                        static_cast<int>(tokens), 0, bits, stream),
        "embedding_grad: sort");
  return room_bytes;
}

// Tables of the sort; ids outside become `vocabulary`, which sorts last.
// Traffic: reads ids once, writes two tables.
__global__ void __launch_bounds__(kIdThreads)
    id_tables_kernel(const std::int32_t* ids, IdTables tables, std::int64_t tokens,
                     std::int64_t vocabulary) {
  wait_for_inputs();
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kIdThreads + threadIdx.x;
  if (t >= tokens) return;
  const std::int64_t id = ids[t];
  const bool inside = id >= 0 && id < vocabulary;
  tables.ids[t] = static_cast<std::uint32_t>(inside ? id : vocabulary);
  tables.tokens[t] = static_cast<std::int32_t>(t);
}

/// Adds rows of dy to `sum` for slots [slot, ...) of one id, ascending.
template <class T, int count>
__device__ __forceinline__ void add_run(const EmbeddingGrad& args, const IdTables& tables,
                                        std::int64_t slot, std::int64_t c,
                                        Part<float, count>& sum) {
  const T* dy = static_cast<const T*>(args.dy) + c;
  const std::uint32_t id = tables.sorted_ids[slot];
  for (bool more = true; more; slot += kRunAhead) {
    Part<T, count> rows[kRunAhead];
    bool live[kRunAhead];
#pragma unroll
    for (int i = 0; i < kRunAhead; ++i) {
      live[i] = slot + i < args.tokens && tables.sorted_ids[slot + i] == id;
      rows[i] = {};
      if (live[i]) rows[i] = load_part<count>(dy + tables.sorted_tokens[slot + i] * args.hidden);
    }
#pragma unroll
    for (int i = 0; i < kRunAhead; ++i) {
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (live[i]) sum.at[e] += to_float(rows[i].at[e]);
      }
    }
    more = live[kRunAhead - 1];
  }
}

// acc[id] += rows of dy, tokens ascending; the block at the first slot of an id has its whole run.
// Traffic: reads dy once, reads and writes a row of acc per id.
// Needs:   rows of whole parts, aligned to them.
template <class T, int count>
__global__ void __launch_bounds__(kRunThreads)
    embedding_grad_kernel(EmbeddingGrad args, IdTables tables) {
  wait_for_inputs();
  if (args.gate != nullptr && !*args.gate) return;
  const std::int64_t slot = blockIdx.x;
  const std::uint32_t id = tables.sorted_ids[slot];
  if (id >= args.vocabulary || (slot > 0 && tables.sorted_ids[slot - 1] == id)) return;
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * count;
  if (c >= args.hidden) return;
  float* acc = args.acc + id * args.hidden + c;
  Part<float, count> sum = load_part<count>(static_cast<const float*>(acc));
  add_run<T, count>(args, tables, slot, c, sum);
  store_part(acc, sum);
}

template <class T, int count>
void start_runs(const EmbeddingGrad& args, const IdTables& tables, cudaStream_t stream) {
  const std::int64_t parts = args.hidden / count;
  const std::int64_t threads = std::clamp<std::int64_t>(
      (parts + kWarpSize - 1) / kWarpSize * kWarpSize, kWarpSize, kRunThreads);
  launch("embedding_grad", embedding_grad_kernel<T, count>,
         dim3(block_count(args.tokens, 1), block_count(parts, threads)),
         static_cast<unsigned>(threads), stream, args, tables);
}

}  // namespace

void embedding_grad(const EmbeddingGrad& args, std::byte* workspace, cudaStream_t stream) {
  if (args.tokens == 0 || args.hidden == 0) return;
  const IdTables tables = tables_in(workspace, args.tokens);
  launch("embedding_grad.ids", id_tables_kernel, block_count(args.tokens, kIdThreads), kIdThreads,
         stream, args.ids, tables, args.tokens, args.vocabulary);
  const auto room = static_cast<std::size_t>(
      embedding_grad_workspace(args.tokens, args.vocabulary) - 4 * table_bytes(args.tokens));
  sort_tokens(tables, room, args.tokens, args.vocabulary, stream);
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    if (args.hidden % Pack<T>::kCount == 0) {
      start_runs<T, Pack<T>::kCount>(args, tables, stream);
    } else {
      start_runs<T, 1>(args, tables, stream);
    }
  });
}

std::int64_t embedding_grad_workspace(std::int64_t tokens, std::int64_t vocabulary) {
  if (tokens == 0) return 0;
  const std::size_t room = sort_tokens({}, 0, tokens, vocabulary, nullptr);
  return 4 * table_bytes(tokens) + static_cast<std::int64_t>(room);
}

}  // namespace parhelion::exec::cuda
