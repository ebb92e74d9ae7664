#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/page_write.h"
#include "exec/cuda/kernels/row_copy.cuh"

namespace parhelion::exec::cuda {
namespace {

// pages[location[t]] = x[t].
// Traffic: reads and writes a row per token.
// Needs:   rows of whole units.
template <class Unit>
__global__ void __launch_bounds__(kRowCopyThreads)
    page_write_kernel(PageWrite args, std::int64_t units) {
  wait_for_inputs();
  if (args.gate != nullptr && !*args.gate) return;
  const std::int64_t t = grid_row();
  if (t >= args.tokens) return;
  const std::int64_t location = args.location[t];
  if (location < 0 || location >= args.capacity) return;
  const Unit* x = static_cast<const Unit*>(args.x) + t * units;
  Unit* page = static_cast<Unit*>(args.pages) + location * units;
  for (std::int64_t u = threadIdx.x; u < units; u += blockDim.x) page[u] = x[u];
}

}  // namespace

void page_write(const PageWrite& args, cudaStream_t stream) {
  const std::int64_t bytes = row_bytes(args.kind, args.row);
  with_row_unit(bytes, [&](auto unit) {
    using Unit = decltype(unit);
    const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
    const RowGrid grid = row_grid(args.tokens, units);
    launch("page_write", page_write_kernel<Unit>, grid.blocks, grid.threads, stream, args, units);
  });
}

}  // namespace parhelion::exec::cuda
