#include "exec/cpu/kernels/swiglu.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/swiglu.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

void swiglu_rows(const Swiglu& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    const F32 d;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gate = static_cast<const T*>(args.gate) + r * args.gate_stride;
      const T* up = static_cast<const T*>(args.up) + r * args.up_stride;
      T* y = static_cast<T*>(args.y) + r * args.cols;
      for_vectors(args.cols, [&](std::int64_t c, auto extent) {
        const Vec32 active = round_to<T>(d, silu_of(d, load(d, gate + c, extent)));
        store(d, hn::Mul(active, load(d, up + c, extent)), y + c, extent);
      });
    }
  });
}

/// One vector of the gradient.
struct SwigluPair {
  Vec32 d_gate;
  Vec32 d_up;
};

template <class T>
HWY_INLINE SwigluPair swiglu_gradient(Vec32 g, Vec32 u, Vec32 dy) {
  const F32 d;
  const Vec32 one = hn::Set(d, 1.0f);
  const Vec32 bottom = hn::Add(one, exp_of(d, hn::Neg(g)));
  const Vec32 sigmoid = hn::Div(one, bottom);
  const Vec32 slope = hn::Mul(sigmoid, hn::MulAdd(g, hn::Sub(one, sigmoid), one));
  const Vec32 active = round_to<T>(d, hn::Div(g, bottom));
  return {hn::Mul(hn::Mul(dy, u), slope), hn::Mul(dy, active)};
}

void swiglu_grad_rows(const SwigluGrad& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.forward.kind, [&](auto type) {
    using T = decltype(type);
    const F32 d;
    const Swiglu& f = args.forward;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gate = static_cast<const T*>(f.gate) + r * f.gate_stride;
      const T* up = static_cast<const T*>(f.up) + r * f.up_stride;
      const T* dy = static_cast<const T*>(args.dy) + r * f.cols;
      T* d_gate = static_cast<T*>(args.d_gate) + r * f.gate_stride;
      T* d_up = static_cast<T*>(args.d_up) + r * f.up_stride;
      for_vectors(f.cols, [&](std::int64_t c, auto extent) {
        const SwigluPair grad = swiglu_gradient<T>(
            load(d, gate + c, extent), load(d, up + c, extent), load(d, dy + c, extent));
        store(d, grad.d_gate, d_gate + c, extent);
        store(d, grad.d_up, d_up + c, extent);
      });
    }
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(swiglu_rows);
HWY_EXPORT(swiglu_grad_rows);

void swiglu(const Swiglu& args, int threads) {
  parallel_ranges(args.rows, grain_of(4 * args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(swiglu_rows)(args, begin, end);
                  });
}

void swiglu_grad(const SwigluGrad& args, int threads) {
  parallel_ranges(args.forward.rows, grain_of(8 * args.forward.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(swiglu_grad_rows)(args, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif
