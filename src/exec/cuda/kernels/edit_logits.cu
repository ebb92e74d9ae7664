#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/edit_logits.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr int kEditThreads = 256;
constexpr std::int64_t kEditPacks = 4;                                // of four, of a thread
constexpr std::int64_t kEditColumns = 4 * kEditPacks * kEditThreads;  // of a block
constexpr float kMaskedLogit = -INFINITY;

/// Columns [first, end) of one row.
struct EditPart {
  const float* x;
  const std::int32_t* mask;
  float* y;
  std::int64_t first;
  std::int64_t end;

  __device__ std::uint32_t bits_from(std::int64_t id) const {
    return static_cast<std::uint32_t>(mask[id / 32]) >> (id % 32);
  }
};

__device__ __forceinline__ void mask_part(const EditPart& part) {
  for (std::int64_t id = part.first + threadIdx.x; id < part.end; id += kEditThreads)
    part.y[id] = (part.bits_from(id) & 1) != 0 ? part.x[id] : kMaskedLogit;
}

/// The same four columns at a time, which lie in one word of the mask.
__device__ __forceinline__ void mask_packs(const EditPart& part) {
#pragma unroll
  for (int i = 0; i < kEditPacks; ++i) {
    const std::int64_t id = part.first + 4 * (i * kEditThreads + threadIdx.x);
    if (id >= part.end) continue;
    const std::uint32_t bits = part.bits_from(id);
    float4 x = *reinterpret_cast<const float4*>(part.x + id);
    if ((bits & 1) == 0) x.x = kMaskedLogit;
    if ((bits & 2) == 0) x.y = kMaskedLogit;
    if ((bits & 4) == 0) x.z = kMaskedLogit;
    if ((bits & 8) == 0) x.w = kMaskedLogit;
    *reinterpret_cast<float4*>(part.y + id) = x;
  }
}

__device__ __forceinline__ float edited_logit(const EditLogits& args, std::int64_t edit, float x) {
  const float biased = __fadd_rn(x, args.bias[edit]);
  const float scale = args.scale[edit];
  const float scaled = biased > 0.0f ? __fdiv_rn(biased, scale) : __fmul_rn(biased, scale);
  return __fsub_rn(scaled, args.subtract[edit]);
}

/// The edits of the row whose ids are in the part. Behind what the block wrote before.
__device__ __forceinline__ void edit_part(const EditLogits& args, std::int64_t r,
                                          const EditPart& part) {
  const std::int64_t begin = min(max(std::int64_t{args.indptr[r]}, std::int64_t{0}), args.edits);
  const std::int64_t end = min(max(std::int64_t{args.indptr[r + 1]}, std::int64_t{0}), args.edits);
  for (std::int64_t edit = begin + threadIdx.x; edit < end; edit += kEditThreads) {
    const std::int64_t id = args.ids[edit];
    if (id < part.first || id >= part.end || (part.bits_from(id) & 1) == 0) continue;
    part.y[id] = edited_logit(args, edit, part.x[id]);
  }
}

// Blocks of kEditColumns columns; each passes over all edits of its row.
// Traffic: reads and writes the logits once, reads the mask, and the edits from the L2 again.
template <bool is_aligned>
__global__ void __launch_bounds__(kEditThreads)
    edit_logits_kernel(EditLogits args, std::int64_t parts) {
  wait_for_inputs();
  const std::int64_t r = blockIdx.x / parts;
  const std::int64_t first = blockIdx.x % parts * kEditColumns;
  const EditPart part{.x = args.logits + r * args.vocabulary,
                      .mask = args.mask + r * ((args.vocabulary + 31) / 32),
                      .y = args.y + r * args.vocabulary,
                      .first = first,
                      .end = min(first + kEditColumns, args.vocabulary)};
  if constexpr (is_aligned) {
    mask_packs(part);
  } else {
    mask_part(part);
  }
  __syncthreads();
  edit_part(args, r, part);
}

}  // namespace

void edit_logits(const EditLogits& args, cudaStream_t stream) {
  const std::int64_t parts = (args.vocabulary + kEditColumns - 1) / kEditColumns;
  const auto blocks = static_cast<unsigned>(args.rows * parts);
  const auto kernel =
      args.vocabulary % 4 == 0 ? edit_logits_kernel<true> : edit_logits_kernel<false>;
  launch("edit_logits", kernel, blocks, kEditThreads, stream, args, parts);
}

}  // namespace parhelion::exec::cuda
