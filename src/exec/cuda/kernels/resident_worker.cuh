#pragma once

#include "exec/cuda/kernels/resident_ring.cuh"

namespace parhelion::exec::cuda::resident {

/// What the computing warps of a block share between the phases of a step: products of weights from
/// the ring by numbers of the other blocks.
///
/// A warp has its own 128 columns of each 1024, from the words it reads to the sums it leaves, so
/// blocks meet once a phase: where rows are summed over warps.
class Worker {
 public:
  __device__ __forceinline__ Worker(const ResidentStep& args, const Ring& ring, char* shared)
      : lane(static_cast<int>(threadIdx.x) % 32),
        warp(static_cast<int>(threadIdx.x) / 32),
        block(static_cast<int>(blockIdx.x)),
        layout_(args.shape),
        shared_(shared),
        ring_(ring) {}

  const int lane, warp, block;

  /// This lane's part of the sum of squares of `columns` numbers of `epoch`, which become the input
  /// of a product, times their gain where there is one.
  __device__ __forceinline__ float read_input(const Word* words, int columns, const Bf16* gain,
                                              std::uint32_t epoch) {
    constexpr int kBatch = 4;
    const int chunks = own_chunks(columns);
    float squares = 0.0f;
    for (int first = 0; first < chunks; first += kBatch) {
      const int count = min(kBatch, chunks - first);
      const auto column = [&](int i) { return own_column(first + i); };
      uint2 gains[kBatch];
      uint2 numbers[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (gain != nullptr && i < count) gains[i] = four_of(gain + column(i));
      await_words<kBatch>([&](int i) { return words + column(i) / 2; }, count, epoch, numbers);
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (i < count) squares += keep_input(first + i, numbers[i], gain != nullptr, gains[i]);
    }
    __syncwarp();
    return squares;
  }

  /// The same of numbers that an earlier kernel wrote.
  __device__ __forceinline__ float read_input(const Bf16* x, int columns, const Bf16* gain) {
    float squares = 0.0f;
    for (int chunk = 0; chunk < own_chunks(columns); ++chunk) {
      const int column = own_column(chunk);
      squares += keep_input(chunk, four_of(x + column), true, four_of(gain + column));
    }
    __syncwarp();
    return squares;
  }

  /// Calls `body` with the column and the kept numbers of each four of this lane's.
  template <class Body>
  __device__ __forceinline__ void for_input(int columns, const Body& body) const {
    for (int chunk = 0; chunk < own_chunks(columns); ++chunk)
      body(own_column(chunk),
           *reinterpret_cast<const uint2*>(own_input() + chunk * kTokenBytes + lane * 8));
  }

  /// Sums of `groups` times eight rows over this warp's columns; settle() lets them be read.
  __device__ __forceinline__ void product(int groups, int columns) {
    const int chunks = (columns + kTileColumns - 1) / kTileColumns;
    const int own = own_chunks(columns);
    float sums[4][4];
    uint4 weights[4];
    uint4 input[4];
    turn_ ^= 1;
    for (int group = 0; group < groups; ++group) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const char* stage = await_stage();
        if (chunk < own) load_weights(weights, stage);
        if (chunk < own && (chunks > 1 || group == 0)) load_input(input, chunk);
        release_stage();
        if (chunk == 0 && group > 0) store_sums(group - 1, sums);
        if (chunk == 0) clear(sums);
        if (chunk < own) multiply(sums, input, weights);
      }
    }
    if (groups > 0) store_sums(groups - 1, sums);
  }

  /// Waits for the sums of all warps.
  __device__ __forceinline__ void settle() const { computing_barrier(); }

  /// Waits for the sums of all warps; 1 / rms of `columns` numbers from the lanes' parts.
  __device__ __forceinline__ float settle_norm(float squares, int columns, float eps) const {
    float* all = reinterpret_cast<float*>(shared_ + layout_.squares) + turn_ * kWarps;
    const float own = lane_sum(squares);
    if (lane == 0) all[warp] = own;
    computing_barrier();
    return rsqrtf(sum_of_warps(all) / static_cast<float>(columns) + eps);
  }

  /// A row's sum, after settling and before the next product but one.
  __device__ __forceinline__ float row_sum(int row) const {
    return sum_of_warps(partials() + row * kWarps);
  }

  /// The residual of a row of this block; always asked for by the same thread.
  __device__ __forceinline__ float& residual(int row) const {
    return reinterpret_cast<float*>(shared_ + layout_.residual)[row];
  }

  /// Numbers of four columns.
  static __device__ __forceinline__ uint2 four_of(const Bf16* from) {
    return *reinterpret_cast<const uint2*>(from);
  }

  __device__ __forceinline__ const char* await_stage() const {
    barrier_wait(ring_.full(place_.stage), place_.parity, "a full stage");
    return ring_.at(place_.stage);
  }

  /// This warp needs the stage no more.
  __device__ __forceinline__ void release_stage() {
    __syncwarp();
    if (lane == 0) barrier_arrive(ring_.empty(place_.stage));
    place_.advance(ring_.stages);
  }

  /// sums[i] += the products of 32 columns: a lane has eight, those of row or head lane / 4 from
  /// column lane % 4 * 8 on, in any order that is the same in both.
  static __device__ __forceinline__ void multiply(float (&sums)[4][4], const uint4 (&input)[4],
                                                  const uint4 (&weights)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      multiply_add(sums[i], input[i].x, input[i].y, weights[i].x, weights[i].y);
      multiply_add(sums[i], input[i].z, input[i].w, weights[i].z, weights[i].w);
    }
  }

 private:
  __device__ __forceinline__ float* partials() const {
    return reinterpret_cast<float*>(shared_ + layout_.partials) +
           turn_ * layout_.most_rows * kWarps;
  }
  __device__ __forceinline__ char* own_input() const {
    return shared_ + layout_.input + warp * layout_.input_bytes;
  }

  /// Chunks of 1024 columns in which this warp has its 128; only in the last it may have none.
  __device__ __forceinline__ int own_chunks(int columns) const {
    return (columns - warp * kColumns + kTileColumns - 1) / kTileColumns;
  }
  __device__ __forceinline__ int own_column(int chunk) const {
    return chunk * kTileColumns + warp * kColumns + lane * 4;
  }

  __device__ __forceinline__ float keep_input(int chunk, uint2 numbers, bool has_gain,
                                              uint2 gain) const {
    const float2 low = unpacked(numbers.x);
    const float2 high = unpacked(numbers.y);
    if (has_gain) {
      const float2 low_gain = unpacked(gain.x);
      const float2 high_gain = unpacked(gain.y);
      numbers.x = packed(low.x * low_gain.x, low.y * low_gain.y);
      numbers.y = packed(high.x * high_gain.x, high.y * high_gain.y);
    }
    *reinterpret_cast<uint2*>(own_input() + chunk * kTokenBytes + lane * 8) = numbers;
    return low.x * low.x + low.y * low.y + high.x * high.x + high.y * high.y;
  }

  __device__ __forceinline__ void load_weights(uint4 (&weights)[4], const char* stage) const {
    const char* from = stage + lane / 4 * kRowBytes + warp * kTokenBytes + lane % 4 * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[i] = *reinterpret_cast<const uint4*>(from + i * 64);
  }

  /// The input is one row of a matrix of eight, so lanes of the others have zeros.
  __device__ __forceinline__ void load_input(uint4 (&input)[4], int chunk) const {
    const char* from = own_input() + chunk * kTokenBytes + lane % 4 * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      input[i] = lane < 4 ? *reinterpret_cast<const uint4*>(from + i * 64) : uint4{};
  }

  __device__ __forceinline__ void store_sums(int group, const float (&sums)[4][4]) const {
    if (lane >= 4) return;
    float* to = partials() + (group * kTileRows + lane * 2) * kWarps + warp;
    to[0] = sums[0][0] + sums[1][0] + (sums[2][0] + sums[3][0]);
    to[kWarps] = sums[0][1] + sums[1][1] + (sums[2][1] + sums[3][1]);
  }

  static __device__ __forceinline__ void clear(float (&sums)[4][4]) {
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i / 4][i % 4] = 0.0f;
  }

  static __device__ __forceinline__ float sum_of_warps(const float* of_warps) {
    const float4 low = reinterpret_cast<const float4*>(of_warps)[0];
    const float4 high = reinterpret_cast<const float4*>(of_warps)[1];
    return (low.x + low.y + (low.z + low.w)) + (high.x + high.y + (high.z + high.w));
  }

  const SharedLayout layout_;
  char* shared_;
  Ring ring_;
  RingPlace place_;
  int turn_ = 0;
};

}  // namespace parhelion::exec::cuda::resident
