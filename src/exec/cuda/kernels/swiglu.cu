#include "exec/cuda/kernels/map.cuh"
#include "exec/cuda/kernels/silu.cuh"
#include "exec/cuda/kernels/swiglu.h"

namespace parhelion::exec::cuda {
namespace {

template <class T>
struct SwigluFunction {
  __device__ float operator()(float gate, float up) const { return swiglu_of<T>(gate, up); }
};

struct SwigluPair {
  float d_gate;
  float d_up;
};

template <class T>
__device__ __forceinline__ SwigluPair swiglu_gradient(float gate, float up, float dy) {
  const Silu active = silu_of<T>(gate);
  const float slope = active.sigmoid * fmaf(gate, 1.0f - active.sigmoid, 1.0f);
  return {dy * up * slope, dy * round_to<T>(active.silu)};
}

template <class T>
__device__ __forceinline__ void swiglu_grad_pack(const T* gate, const T* up, const T* dy, T* d_gate,
                                                 T* d_up) {
  const MapPack<T> g = map_load(gate), u = map_load(up), d = map_load(dy);
  MapPack<T> of_gate, of_up;
#pragma unroll
  for (int i = 0; i < kMapCount; ++i) {
    const SwigluPair pair =
        swiglu_gradient<T>(to_float(g.at[i]), to_float(u.at[i]), to_float(d.at[i]));
    of_gate.at[i] = from_float<T>(pair.d_gate);
    of_up.at[i] = from_float<T>(pair.d_up);
  }
  store_part(d_gate, of_gate);
  store_part(d_up, of_up);
}

// Both gradients of swiglu, one pack per thread.
// Traffic: reads gate, up and dy once, writes d_gate and d_up.
// Needs:   operands aligned to 16 bytes.
template <class T>
__global__ void __launch_bounds__(kMapThreads)
    swiglu_grad_kernel(const T* gate, const T* up, const T* dy, T* d_gate, T* d_up,
                       std::int64_t count) {
  wait_for_inputs();
  const std::int64_t first =
      kMapCount * (static_cast<std::int64_t>(blockIdx.x) * kMapThreads + threadIdx.x);
  if (first + kMapCount <= count) {
    swiglu_grad_pack(gate + first, up + first, dy + first, d_gate + first, d_up + first);
    return;
  }
  for (std::int64_t i = first; i < count; ++i) {
    const SwigluPair pair = swiglu_gradient<T>(to_float(gate[i]), to_float(up[i]), to_float(dy[i]));
    d_gate[i] = from_float<T>(pair.d_gate);
    d_up[i] = from_float<T>(pair.d_up);
  }
}

}  // namespace

void swiglu(const Swiglu& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    launch_map("swiglu", SwigluFunction<T>{}, args.count, nullptr, stream, static_cast<T*>(args.y),
               static_cast<const T*>(args.gate), static_cast<const T*>(args.up));
  });
}

void swiglu_grad(const SwigluGrad& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    launch("swiglu_grad", swiglu_grad_kernel<T>, map_blocks(args.count), kMapThreads, stream,
           static_cast<const T*>(args.gate), static_cast<const T*>(args.up),
           static_cast<const T*>(args.dy), static_cast<T*>(args.d_gate), static_cast<T*>(args.d_up),
           args.count);
  });
}

}  // namespace parhelion::exec::cuda
