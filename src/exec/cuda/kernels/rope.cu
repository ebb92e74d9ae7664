#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/part.cuh"
#include "exec/cuda/kernels/rope.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

constexpr int kRopeThreads = 256;

/// What a launch's threads turn: threads of x are parts of a token, of y tokens.
struct RopeWork {
  int parts_of_head = 0;
  int parts_of_token = 0;
};

// y = x turned by its position, one part of both halves per thread.
// Traffic: reads x once, writes y; the table's rows come from the caches, once for all heads.
// Needs:   halves of whole parts, aligned to 16 bytes.
template <class T, int count>
__global__ void __launch_bounds__(kRopeThreads) rope_kernel(Rope args, RopeWork work) {
  wait_for_inputs();
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * blockDim.y + static_cast<int>(threadIdx.y);
  const int part = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (token >= args.tokens || part >= work.parts_of_token) return;
  const std::int64_t column = part % work.parts_of_head * count;
  const std::int64_t half = args.d / 2;
  const std::int64_t position =
      min(max(std::int64_t{args.positions[token]}, std::int64_t{0}), args.max_position - 1);
  const float* angles = args.table + position * args.d + column;
  const std::int64_t at = (token * args.heads + part / work.parts_of_head) * args.d + column;
  const auto low = load_part<count>(static_cast<const T*>(args.x) + at);
  const auto high = load_part<count>(static_cast<const T*>(args.x) + at + half);
  const auto cosine = load_part<count>(angles);
  const auto sine = load_part<count>(angles + half);
  Part<T, count> y_low, y_high;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const float turn = args.inverse ? -sine.at[i] : sine.at[i];
    const float a = to_float(low.at[i]), b = to_float(high.at[i]);
    y_low.at[i] = from_float<T>(fmaf(-b, turn, __fmul_rn(a, cosine.at[i])));
    y_high.at[i] = from_float<T>(fmaf(a, turn, __fmul_rn(b, cosine.at[i])));
  }
  store_part(static_cast<T*>(args.y) + at, y_low);
  store_part(static_cast<T*>(args.y) + at + half, y_high);
}

template <class T, int count>
void start_rope(const Rope& args, cudaStream_t stream) {
  const std::int64_t parts = args.d / 2 / count;
  const std::int64_t of_token = args.heads * parts;
  if (of_token == 0) return;
  const std::int64_t across = std::min<std::int64_t>(kRopeThreads, of_token);
  const std::int64_t tokens = kRopeThreads / across;
  const dim3 blocks(block_count(args.tokens, tokens), block_count(of_token, across));
  const dim3 threads(static_cast<unsigned>(across), static_cast<unsigned>(tokens));
  launch("rope", rope_kernel<T, count>, blocks, threads, stream, args,
         RopeWork{static_cast<int>(parts), static_cast<int>(of_token)});
}

// As Transformers computes it, in f32; products and sums are named so that none are fused.
__device__ float stretched_frequency(float frequency, const RopeTable& args) {
  if (!args.by_wavelength) return frequency / args.factor;
  const float wavelength = static_cast<float>(2.0 * 3.14159265358979323846) / frequency;
  if (wavelength < args.original / args.high_frequency) return frequency;
  if (wavelength > args.original / args.low_frequency) return frequency / args.factor;
  const float smooth = (args.original / wavelength - args.low_frequency) /
                       (args.high_frequency - args.low_frequency);
  const float stretched = __fmul_rn(1.0f - smooth, frequency) / args.factor;
  return __fadd_rn(stretched, __fmul_rn(smooth, frequency));
}

__device__ float frequency_of(const RopeTable& args, std::int64_t column) {
  const float exponent = static_cast<float>(2 * column) / static_cast<float>(args.d);
  const double power =
      pow(static_cast<double>(static_cast<float>(args.theta)), static_cast<double>(exponent));
  return stretched_frequency(1.0f / static_cast<float>(power), args);
}

constexpr int kTableColumns = 32;
constexpr int kTableRows = 8;
constexpr int kTablePositions = 64;  // of a block

// cos and sin of every position, a column per thread.
// Traffic: writes the table; runs once, its time is that of f64 functions.
__global__ void __launch_bounds__(kTableColumns* kTableRows) rope_table_kernel(RopeTable args) {
  wait_for_inputs();
  const std::int64_t half = args.d / 2;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTableColumns + threadIdx.x;
  if (column >= half) return;
  const float frequency = frequency_of(args, column);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTablePositions;
  const std::int64_t end = min(args.max_position, first + kTablePositions);
  for (std::int64_t p = first + threadIdx.y; p < end; p += kTableRows) {
    const auto angle = static_cast<double>(__fmul_rn(static_cast<float>(p), frequency));
    double sine = 0, cosine = 0;
    sincos(angle, &sine, &cosine);
    args.table[p * args.d + column] = static_cast<float>(cosine);
    args.table[p * args.d + half + column] = static_cast<float>(sine);
  }
}

}  // namespace

void rope(const Rope& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    if (args.d / 2 % Pack<T>::kCount == 0) {
      start_rope<T, Pack<T>::kCount>(args, stream);
    } else {
      start_rope<T, 1>(args, stream);
    }
  });
}

void fill_rope_table(const RopeTable& args, cudaStream_t stream) {
  const dim3 blocks(block_count(args.max_position, kTablePositions),
                    block_count(args.d / 2, kTableColumns));
  launch("rope_table", rope_table_kernel, blocks, dim3(kTableColumns, kTableRows), stream, args);
}

}  // namespace parhelion::exec::cuda
