#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/rms_norm.h"
#include "exec/cuda/kernels/rms_norm_row.cuh"

namespace parhelion::exec::cuda {
namespace {

// dx of rms_norm, a row in the registers of Shape::kThreads.
// Traffic: reads x and dy once, writes dx; w comes from the caches.
// Needs:   rows of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kBlock)
    rms_norm_grad_kernel(const T* x,   // [rows, packs]
                         const T* w,   // [packs]
                         const T* dy,  // [rows, packs]
                         T* dx,        // [rows, packs]
                         std::int64_t rows, int packs, float eps) {
  wait_for_inputs();
  __shared__ float scratch[kWarpSize];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Shape::kRows + row_slot<Shape>();
  const bool live = row < rows;
  const std::int64_t cols = static_cast<std::int64_t>(packs) * Pack<T>::kCount;
  Pack<T> held[Shape::kPacks], weight[Shape::kPacks], given[Shape::kPacks];
  load_row<Shape>(x + row * cols, packs, live, held);
  load_row<Shape>(dy + row * cols, packs, live, given);
  load_row<Shape>(w, packs, true, weight);
  const float rstd = rms_norm_rstd(row_sum<Shape>(square_sum<Shape>(held), scratch), cols, eps);
  const float dot = row_sum<Shape>(slope_sum<Shape>(held, weight, given), scratch);
  const float slope = rstd * rstd * (dot / static_cast<float>(cols));
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    if (!live || at >= packs) continue;
    Pack<T> result;
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e)
      result.at[e] = rms_norm_dx(held[i].at[e], weight[i].at[e], given[i].at[e], rstd, slope);
    reinterpret_cast<Pack<T>*>(dx + row * cols)[at] = result;
  }
}

// The same for rows of any width, one block per row.
// Traffic: reads x and dy again from the caches.
template <class T>
__global__ void __launch_bounds__(kAnyRowThreads)
    rms_norm_grad_any_kernel(const T* x, const T* w, const T* dy, T* dx, std::int64_t cols,
                             float eps) {
  wait_for_inputs();
  __shared__ float scratch[kWarpSize];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * cols;
  const float rstd = any_row_rstd(x + first, cols, eps, scratch);
  const float dot = any_row_sum(cols, scratch, [&](float sum, std::int64_t c) {
    const float g = to_float(w[c]) * to_float(dy[first + c]);
    return fmaf(g, to_float(x[first + c]), sum);
  });
  const float slope = rstd * rstd * (dot / static_cast<float>(cols));
  for (std::int64_t c = threadIdx.x; c < cols; c += kAnyRowThreads)
    dx[first + c] = rms_norm_dx(x[first + c], w[c], dy[first + c], rstd, slope);
}

template <class T>
void start_rms_norm_grad(const RmsNormGrad& args, cudaStream_t stream) {
  const auto* x = static_cast<const T*>(args.x);
  const auto* w = static_cast<const T*>(args.w);
  const auto* dy = static_cast<const T*>(args.dy);
  auto* dx = static_cast<T*>(args.dx);
  if (!has_row_shape<T>(args.cols)) {
    launch("rms_norm_grad.any", rms_norm_grad_any_kernel<T>, block_count(args.rows, 1),
           kAnyRowThreads, stream, x, w, dy, dx, args.cols, args.eps);
    return;
  }
  const std::int64_t packs = args.cols / Pack<T>::kCount;
  with_row_shape(packs, [&](auto shape) {
    using Shape = decltype(shape);
    launch("rms_norm_grad", rms_norm_grad_kernel<T, Shape>, block_count(args.rows, Shape::kRows),
           Shape::kBlock, stream, x, w, dy, dx, args.rows, static_cast<int>(packs), args.eps);
  });
}

}  // namespace

void rms_norm_grad(const RmsNormGrad& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) { start_rms_norm_grad<decltype(type)>(args, stream); });
}

}  // namespace parhelion::exec::cuda
