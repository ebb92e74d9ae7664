#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/scalars.h"

namespace parhelion::exec::cuda {
namespace {

constexpr int kScalarThreads = 256;

/// What one thread needs to run a step when its operands from memory are here.
struct ScalarLink {
  std::int16_t a_step;
  std::int16_t b_step;
  bool is_product;
};

// Runs steps in order: all threads fetch what is in memory, one computes, all store.
// Traffic: that of the table; what matters is that no step waits for memory.
__global__ void __launch_bounds__(kScalarThreads)
    scalar_steps_kernel(const ScalarStep* steps, int count) {
  wait_for_inputs();
  __shared__ float a[kMostScalarSteps], b[kMostScalarSteps], y[kMostScalarSteps];
  __shared__ ScalarLink links[kMostScalarSteps];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kScalarThreads) {
    const ScalarStep step = steps[i];
    links[i] = {step.a_step, step.b_step, step.is_product};
    if (step.a_step < 0) a[i] = *step.a;
    if (step.b_step < 0) b[i] = *step.b;
  }
  __syncthreads();
  for (int i = 0; threadIdx.x == 0 && i < count; ++i) {
    const ScalarLink link = links[i];
    const float left = link.a_step < 0 ? a[i] : y[link.a_step];
    const float right = link.b_step < 0 ? b[i] : y[link.b_step];
    y[i] = link.is_product ? left * right : left + right;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kScalarThreads) {
    if (steps[i].is_last) *steps[i].y = y[i];
  }
}

}  // namespace

void run_scalar_steps(const ScalarStep* steps, std::int64_t count, cudaStream_t stream) {
  launch("scalar_steps", scalar_steps_kernel, count > 0 ? 1 : 0, kScalarThreads, stream, steps,
         static_cast<int>(count));
}

}  // namespace parhelion::exec::cuda
