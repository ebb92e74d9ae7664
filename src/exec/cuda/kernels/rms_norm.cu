#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/rms_norm.h"
#include "exec/cuda/kernels/rms_norm_row.cuh"

namespace parhelion::exec::cuda {
namespace {

/// Stores this thread's packs of s = x + r, and puts them into x.
template <class Shape, class T>
__device__ __forceinline__ void add_row(const T* r, T* s, int packs, bool live,
                                        Pack<T> (&x)[Shape::kPacks]) {
  Pack<T> other[Shape::kPacks];
  load_row<Shape>(r, packs, live, other);
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    x[i] = sum_of(x[i], other[i]);
    if (live && at < packs) reinterpret_cast<Pack<T>*>(s)[at] = x[i];
  }
}

// y = rms_norm(x), or of s = x + r which it stores too; a row in the registers of Shape::kThreads.
// Traffic: reads x (and r) once, writes y (and s); w comes from the caches.
// Needs:   rows of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape, bool adds>
__global__ void __launch_bounds__(Shape::kBlock)
    rms_norm_kernel(const T* x,  // [rows, packs]
                    const T* r,  // [rows, packs], null unless it adds
                    const T* w,  // [packs]
                    T* s,        // [rows, packs], null unless it adds
                    T* y,        // [rows, packs]
                    std::int64_t rows, int packs, float eps) {
  wait_for_inputs();
  __shared__ float scratch[kWarpSize];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Shape::kRows + row_slot<Shape>();
  const bool live = row < rows;
  const std::int64_t cols = static_cast<std::int64_t>(packs) * Pack<T>::kCount;
  Pack<T> held[Shape::kPacks], weight[Shape::kPacks];
  load_row<Shape>(x + row * cols, packs, live, held);
  load_row<Shape>(w, packs, true, weight);  // here, so that it does not wait for the sum
  if constexpr (adds) add_row<Shape>(r + row * cols, s + row * cols, packs, live, held);
  const float rstd = rms_norm_rstd(row_sum<Shape>(square_sum<Shape>(held), scratch), cols, eps);
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    if (!live || at >= packs) continue;
    Pack<T> result;
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e)
      result.at[e] = normed(held[i].at[e], weight[i].at[e], rstd);
    reinterpret_cast<Pack<T>*>(y + row * cols)[at] = result;
  }
}

// The same for rows of any width, one block per row.
// Traffic: reads x (and r) twice, the second time from the caches.
template <class T, bool adds>
__global__ void __launch_bounds__(kAnyRowThreads)
    rms_norm_any_kernel(const T* x, const T* r, const T* w, T* s, T* y, std::int64_t cols,
                        float eps) {
  wait_for_inputs();
  __shared__ float scratch[kWarpSize];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * cols;
  const auto value = [&](std::int64_t c) {
    if constexpr (adds) return from_float<T>(to_float(x[first + c]) + to_float(r[first + c]));
    return x[first + c];
  };
  const float squares = any_row_sum(cols, scratch, [&](float sum, std::int64_t c) {
    const float held = to_float(value(c));
    return fmaf(held, held, sum);
  });
  const float rstd = rms_norm_rstd(squares, cols, eps);
  for (std::int64_t c = threadIdx.x; c < cols; c += kAnyRowThreads) {
    const T held = value(c);
    if constexpr (adds) s[first + c] = held;
    y[first + c] = normed(held, w[c], rstd);
  }
}

template <class T, bool adds>
void start_rms_norm(const AddRmsNorm& args, cudaStream_t stream) {
  const auto* x = static_cast<const T*>(args.norm.x);
  const auto* r = static_cast<const T*>(args.r);
  const auto* w = static_cast<const T*>(args.norm.w);
  auto* s = static_cast<T*>(args.s);
  auto* y = static_cast<T*>(args.norm.y);
  const std::int64_t rows = args.norm.rows, cols = args.norm.cols;
  if (!has_row_shape<T>(cols)) {
    launch("rms_norm.any", rms_norm_any_kernel<T, adds>, block_count(rows, 1), kAnyRowThreads,
           stream, x, r, w, s, y, cols, args.norm.eps);
    return;
  }
  const std::int64_t packs = cols / Pack<T>::kCount;
  with_row_shape(packs, [&](auto shape) {
    using Shape = decltype(shape);
    launch("rms_norm", rms_norm_kernel<T, Shape, adds>, block_count(rows, Shape::kRows),
           Shape::kBlock, stream, x, r, w, s, y, rows, static_cast<int>(packs), args.norm.eps);
  });
}

}  // namespace

void rms_norm(const RmsNorm& args, cudaStream_t stream) {
  with_type(args.kind,
            [&](auto type) { start_rms_norm<decltype(type), false>({.norm = args}, stream); });
}

void add_rms_norm(const AddRmsNorm& args, cudaStream_t stream) {
  with_type(args.norm.kind, [&](auto type) { start_rms_norm<decltype(type), true>(args, stream); });
}

}  // namespace parhelion::exec::cuda
