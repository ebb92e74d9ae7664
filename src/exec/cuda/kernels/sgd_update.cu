#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/update.cuh"
#include "exec/cuda/kernels/update.h"

namespace parhelion::exec::cuda {
namespace {

template <class T, class B, bool stochastic>
__device__ void sgd_chunk(const SgdItem& item, std::int64_t first) {
  const float scale = *item.scale;
  const float gain = *item.gain;
  const auto step = static_cast<float>(__dmul_rn(static_cast<double>(*item.lr), item.lr_scale));
  const std::uint64_t seed = *item.seed;
  T* p = static_cast<T*>(item.p);
  B* b = static_cast<B*>(item.b);
  const std::int64_t end = min(first + kUpdateChunk, item.count);
  for_update_groups(first, end, [&](std::int64_t i, std::int64_t left) {
    UpdateGroup weight, slope, velocity;
    load_group(p + i, left, weight);
    load_group(item.g + i, left, slope);
    if (b != nullptr) load_group(b + i, left, velocity);
#pragma unroll
    for (int j = 0; j < kUpdateGroup; ++j) {
      float d = fmaf(item.weight_decay, weight[j], __fmul_rn(slope[j], scale));
      if (b != nullptr) {
        velocity[j] = fmaf(item.momentum, velocity[j], __fmul_rn(gain, d));
        d = item.nesterov ? fmaf(item.momentum, velocity[j], d) : velocity[j];
      }
      weight[j] = fmaf(-step, d, weight[j]);
    }
    const std::int64_t group = i / kUpdateGroup;
    round_group<T, stochastic>(weight, {seed, item.tag, group});
    store_group(weight, left, p + i);
    if (item.copy != nullptr) store_group(weight, left, item.copy + i);
    if (b == nullptr) return;
    round_group<B, stochastic>(velocity, {seed, item.tag + 1, group});
    store_group(velocity, left, b + i);
  });
}

template <class T, class B>
__device__ void sgd_chunk(const SgdItem& item, std::int64_t first) {
  if (item.stochastic) {
    sgd_chunk<T, B, true>(item, first);
  } else {
    sgd_chunk<T, B, false>(item, first);
  }
}

template <class T>
__device__ void sgd_chunk(const SgdItem& item, std::int64_t first) {
  if (item.momentum_kind == ir::Kind::bf16) {
    sgd_chunk<T, __nv_bfloat16>(item, first);
  } else {
    sgd_chunk<T, float>(item, first);
  }
}

// SgdUpdate of all items, one block per chunk of one of them.
// Traffic: reads p, g and b once, writes p, its copy and b once; 16-byte accesses, eight elements a
//          thread.
// Needs:   tensors aligned to 16 bytes. All in f32, each fused or rounded as on the CPU.
__global__ void __launch_bounds__(kUpdateThreads) sgd_kernel(UpdateTable<SgdItem> table) {
  wait_for_inputs();
  if (table.gate != nullptr && !*table.gate) return;
  const UpdateChunk chunk = table.chunks[blockIdx.x];
  const SgdItem item = table.items[chunk.item];
  if (item.kind == ir::Kind::bf16) {
    sgd_chunk<__nv_bfloat16>(item, chunk.first);
  } else {
    sgd_chunk<float>(item, chunk.first);
  }
}

}  // namespace

void update(const UpdateTable<SgdItem>& table, cudaStream_t stream) {
  launch("sgd_update", sgd_kernel, static_cast<unsigned>(table.chunk_count), kUpdateThreads, stream,
         table);
}

}  // namespace parhelion::exec::cuda
