#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/update.cuh"
#include "exec/cuda/kernels/update.h"

namespace parhelion::exec::cuda {
namespace {

struct AdamFactors {
  float scale, decay, added_decay, step, root;
  std::uint64_t seed;
};

/// No product and sum is fused here, as on the CPU.
__device__ AdamFactors adam_factors(const AdamItem& item) {
  const double rate = __dmul_rn(static_cast<double>(*item.lr), item.lr_scale);
  const double kept = __dsub_rn(1.0, __dmul_rn(rate, item.weight_decay));
  return {.scale = *item.scale,
          .decay = item.decoupled ? static_cast<float>(kept) : 1.0f,
          .added_decay = item.decoupled ? 0.0f : static_cast<float>(item.weight_decay),
          .step = static_cast<float>(__dmul_rn(rate, static_cast<double>(item.correction[0]))),
          .root = item.correction[1],
          .seed = *item.seed};
}

template <class T, class M, bool stochastic>
__device__ void adam_chunk(const AdamItem& item, std::int64_t first) {
  const AdamFactors factors = adam_factors(item);
  T* p = static_cast<T*>(item.p);
  M* m = static_cast<M*>(item.m);
  M* v = static_cast<M*>(item.v);
  M* v_max = static_cast<M*>(item.v_max);
  const std::int64_t end = min(first + kUpdateChunk, item.count);
  for_update_groups(first, end, [&](std::int64_t i, std::int64_t left) {
    UpdateGroup weight, slope, mean, square;
    load_group(p + i, left, weight);
    load_group(item.g + i, left, slope);
    load_group(m + i, left, mean);
    load_group(v + i, left, square);
    UpdateGroup largest = {};
    if (v_max != nullptr) load_group(v_max + i, left, largest);
#pragma unroll
    for (int j = 0; j < kUpdateGroup; ++j) {
      const float d = fmaf(factors.added_decay, weight[j], __fmul_rn(slope[j], factors.scale));
      mean[j] = fmaf(item.keep_1, mean[j], __fmul_rn(item.take_1, d));
      square[j] = fmaf(item.keep_2, square[j], __fmul_rn(item.take_2, __fmul_rn(d, d)));
      if (v_max == nullptr || !(largest[j] >= square[j])) largest[j] = square[j];
      const float spread = fmaf(__fsqrt_rn(largest[j]), factors.root, item.eps);
      weight[j] =
          fmaf(-factors.step, __fdiv_rn(mean[j], spread), __fmul_rn(weight[j], factors.decay));
    }
    const std::int64_t group = i / kUpdateGroup;
    round_group<T, stochastic>(weight, {factors.seed, item.tag, group});
    round_group<M, stochastic>(mean, {factors.seed, item.tag + 1, group});
    round_group<M, stochastic>(square, {factors.seed, item.tag + 2, group});
    store_group(weight, left, p + i);
    if (item.copy != nullptr) store_group(weight, left, item.copy + i);
    store_group(mean, left, m + i);
    store_group(square, left, v + i);
    if (v_max == nullptr) return;
    round_group<M, stochastic>(largest, {factors.seed, item.tag + 2, group});
    store_group(largest, left, v_max + i);
  });
}

template <class T, class M>
__device__ void adam_chunk(const AdamItem& item, std::int64_t first) {
  if (item.stochastic) {
    adam_chunk<T, M, true>(item, first);
  } else {
    adam_chunk<T, M, false>(item, first);
  }
}

template <class T>
__device__ void adam_chunk(const AdamItem& item, std::int64_t first) {
  if (item.moment_kind == ir::Kind::bf16) {
    adam_chunk<T, __nv_bfloat16>(item, first);
  } else {
    adam_chunk<T, float>(item, first);
  }
}

// AdamUpdate of all items, one block per chunk of one of them.
// Traffic: reads p, g, m, v and v_max once, writes p, its copy, m, v and v_max once; 16-byte
//          accesses, eight elements a thread.
// Needs:   tensors aligned to 16 bytes. All in f32, each fused or rounded as on the CPU.
__global__ void __launch_bounds__(kUpdateThreads) adam_kernel(UpdateTable<AdamItem> table) {
  wait_for_inputs();
  if (table.gate != nullptr && !*table.gate) return;
  const UpdateChunk chunk = table.chunks[blockIdx.x];
  const AdamItem item = table.items[chunk.item];
  if (item.kind == ir::Kind::bf16) {
    adam_chunk<__nv_bfloat16>(item, chunk.first);
  } else {
    adam_chunk<float>(item, chunk.first);
  }
}

}  // namespace

void update(const UpdateTable<AdamItem>& table, cudaStream_t stream) {
  launch("adam_update", adam_kernel, static_cast<unsigned>(table.chunk_count), kUpdateThreads,
         stream, table);
}

}  // namespace parhelion::exec::cuda
