#include "exec/cuda/kernels/delay.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

__global__ void delay_kernel(int milliseconds) {
  wait_for_inputs();
  for (int i = 0; i < milliseconds; ++i) __nanosleep(1000000);  // at most one at a time
}

}  // namespace

void delay(int milliseconds, cudaStream_t stream) {
  launch("delay", delay_kernel, 1, 1, stream, milliseconds);
}

}  // namespace parhelion::exec::cuda
