#include "exec/cuda/kernels/head_rows.h"
#include "exec/cuda/kernels/head_turn.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/packed_row.cuh"
#include "exec/cuda/kernels/rms_norm_row.cuh"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

/// Tasks, each with blocks of its own from first_block on.
struct HeadWork {
  HeadTask tasks[kMostHeadTasks];
  unsigned first_block[kMostHeadTasks];
  int task_count;
  int packs;
};

/// Rows from which a thread group takes several, so that more bytes are on their way.
constexpr std::int64_t kManyHeadRows = 32768;

template <class T, class Shape>
__device__ __forceinline__ void norm_pack(Pack<T> (&pack)[1], PackedRow<T, Shape>& weight,
                                          std::int64_t cols, float eps) {
  const float rstd = rms_norm_rstd(row_sum<Shape>(square_sum<Shape>(pack), nullptr), cols, eps);
  Pack<T> w[1];
  weight.open(w);
#pragma unroll
  for (int e = 0; e < Pack<T>::kCount; ++e) pack[0].at[e] = normed(pack[0].at[e], w[0].at[e], rstd);
}

/// The row of y that a row of x becomes, negative if none.
__device__ __forceinline__ std::int64_t row_of_y(const HeadTask& task, std::int64_t row) {
  if (task.location == nullptr) return row;
  const int token = static_cast<int>(row) / task.turn.heads;
  const std::int64_t location = task.location[token];
  if (location < 0 || location >= task.capacity) return -1;
  return location * task.turn.heads + (static_cast<int>(row) - token * task.turn.heads);
}

// Rows of several tensors, each normed, turned and stored as its task says; `each` rows that follow
// each other in the registers of Shape::kThreads.
// Traffic: reads x once, writes y; w and angles come from the caches.
// Needs:   halves of rows of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape, int each>
__global__ void __launch_bounds__(Shape::kBlock)
    head_rows_kernel(const __grid_constant__ HeadWork work) {
  wait_for_inputs();
  int index = 0;
  while (index + 1 < work.task_count && blockIdx.x >= work.first_block[index + 1]) ++index;
  const HeadTask& task = work.tasks[index];
  const std::int64_t cols = std::int64_t{work.packs} * Pack<T>::kCount;
  const std::int64_t block = blockIdx.x - work.first_block[index];
  const std::int64_t first = (block * Shape::kRows + row_slot<Shape>()) * each;
  PackedRow<T, Shape> rows[each], w;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    rows[i].load(static_cast<const T*>(task.x) + (first + i) * cols, work.packs,
                 first + i < task.rows);
  }
  w.load(static_cast<const T*>(task.w), work.packs, task.w != nullptr);
  RowTurner<T, Shape> turner(task.turn, first, work.packs);
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const bool live = first + i < task.rows;
    Pack<T> pack[1];
    rows[i].open(pack);
    if (task.w != nullptr) norm_pack<T, Shape>(pack, w, cols, task.eps);
    if (task.turn.positions != nullptr) pack[0] = turner.next(pack[0], live);
    const std::int64_t to = live ? row_of_y(task, first + i) : -1;
    if (to < 0 || row_lane<Shape>() >= work.packs) continue;
    reinterpret_cast<Pack<T>*>(static_cast<T*>(task.y) + to * cols)[row_lane<Shape>()] = pack[0];
  }
}

template <class T, class Shape, int each>
void start_head_rows(const HeadRows& args, HeadWork work, cudaStream_t stream) {
  unsigned blocks = 0;
  for (std::size_t i = 0; i < args.task_count; ++i) {
    work.tasks[i] = args.tasks[i];
    work.first_block[i] = blocks;
    blocks += block_count(args.tasks[i].rows, Shape::kRows * each);
  }
  launch("head_rows", head_rows_kernel<T, Shape, each>, blocks, Shape::kBlock, stream, work);
}

std::int64_t most_rows(const HeadRows& args) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < args.task_count; ++i) most = std::max(most, args.tasks[i].rows);
  return most;
}

}  // namespace

void head_rows(const HeadRows& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    HeadWork work{};
    work.task_count = static_cast<int>(args.task_count);
    work.packs = static_cast<int>(args.d / Pack<T>::kCount);
    with_row_shape(work.packs, [&](auto shape) {
      using Shape = decltype(shape);
      if constexpr (Shape::kPacks == 1) {
        if (most_rows(args) < kManyHeadRows) {
          start_head_rows<T, Shape, 1>(args, work, stream);
        } else {
          start_head_rows<T, Shape, 4>(args, work, stream);
        }
      }
    });
  });
}

}  // namespace parhelion::exec::cuda
