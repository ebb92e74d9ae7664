#include "exec/cuda/kernels/delay.h"

namespace parhelion::exec::cuda {
namespace {

__global__ void delay_kernel(int milliseconds) {
  for (int i = 0; i < milliseconds; ++i) __nanosleep(1000000);  // at most one at a time
}

}  // namespace

void delay(int milliseconds, cudaStream_t stream) {
  delay_kernel<<<1, 1, 0, stream>>>(milliseconds);
}

}  // namespace parhelion::exec::cuda
