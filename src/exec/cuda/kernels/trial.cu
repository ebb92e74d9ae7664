#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/trial.h"

namespace parhelion::exec::cuda {
namespace {

constexpr int kTrialThreads = 256;
constexpr std::int64_t kTrialBlocks = 4096;

__device__ std::uint32_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>(x >> 32);
}

// Writes each element once, in order of addresses.
template <class T>
__global__ void __launch_bounds__(kTrialThreads) fill_trial_kernel(TrialMatrix matrix) {
  wait_for_inputs();
  T* out = static_cast<T*>(matrix.data);
  const std::int64_t count = matrix.rows * matrix.columns;
  const std::int64_t step = std::int64_t{gridDim.x} * kTrialThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kTrialThreads + threadIdx.x; i < count;
       i += step) {
    const std::int64_t row = i / matrix.columns % matrix.row_period;
    const std::int64_t column = i % matrix.columns % matrix.column_period;
    const std::uint64_t place = static_cast<std::uint64_t>(row * matrix.column_period + column);
    const std::uint32_t bits = mixed(place + (std::uint64_t{matrix.seed} << 40) + 1);
    out[i] = from_float<T>(static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f);
  }
}

// Integer sums alone: their order does not matter.
template <class Bits>
__global__ void __launch_bounds__(kTrialThreads) compare_trial_kernel(TrialComparison of) {
  wait_for_inputs();
  const Bits* expected = static_cast<const Bits*>(of.expected);
  const Bits* actual = static_cast<const Bits*>(of.actual);
  const std::int64_t count = of.rows * of.columns;
  const std::int64_t step = std::int64_t{gridDim.x} * kTrialThreads;
  unsigned found = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kTrialThreads + threadIdx.x; i < count;
       i += step) {
    const std::int64_t row = i / of.columns % of.period;
    found += actual[i] != expected[row * of.columns + i % of.columns];
  }
  if (found != 0) atomicAdd(of.differences, found);
}

}  // namespace

void fill_trial(const TrialMatrix& matrix, cudaStream_t stream) {
  const std::int64_t count = matrix.rows * matrix.columns;
  const unsigned blocks = block_count(count, kTrialThreads, kTrialBlocks);
  with_type(matrix.kind, [&](auto type) {
    launch("fill_trial", fill_trial_kernel<decltype(type)>, blocks, kTrialThreads, stream, matrix);
  });
}

void compare_trial(const TrialComparison& comparison, cudaStream_t stream) {
  const std::int64_t count = comparison.rows * comparison.columns;
  const unsigned blocks = block_count(count, kTrialThreads, kTrialBlocks);
  if (comparison.kind == ir::Kind::bf16) {
    launch("compare_trial", compare_trial_kernel<std::uint16_t>, blocks, kTrialThreads, stream,
           comparison);
  } else {
    launch("compare_trial", compare_trial_kernel<std::uint32_t>, blocks, kTrialThreads, stream,
           comparison);
  }
}

}  // namespace parhelion::exec::cuda
