#include "exec/cuda/kernels/embedding.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/row_copy.cuh"

namespace parhelion::exec::cuda {
namespace {

// y[t] = table[ids[t]], or zeros.
// Traffic: reads and writes a row per token.
// Needs:   rows of whole units.
template <class Unit>
__global__ void __launch_bounds__(kRowCopyThreads)
    embedding_kernel(const std::int32_t* ids,  // [tokens]
                     const Unit* table,        // [vocabulary, units]
                     Unit* y,                  // [tokens, units]
                     std::int64_t tokens, std::int64_t vocabulary, std::int64_t units) {
  wait_for_inputs();
  const std::int64_t t = grid_row();
  if (t >= tokens) return;
  const std::int64_t id = ids[t];
  const bool inside = id >= 0 && id < vocabulary;
  for (std::int64_t u = threadIdx.x; u < units; u += blockDim.x)
    y[t * units + u] = inside ? table[id * units + u] : Unit{};
}

}  // namespace

void embedding(const Embedding& args, cudaStream_t stream) {
  const std::int64_t bytes = row_bytes(args.kind, args.hidden);
  with_row_unit(bytes, [&](auto unit) {
    using Unit = decltype(unit);
    const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
    const RowGrid grid = row_grid(args.tokens, units);
    launch("embedding", embedding_kernel<Unit>, grid.blocks, grid.threads, stream, args.ids,
           static_cast<const Unit*>(args.table), static_cast<Unit*>(args.y), args.tokens,
           args.vocabulary, units);
  });
}

}  // namespace parhelion::exec::cuda
