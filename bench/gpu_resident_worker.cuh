#pragma once

#include "gpu_resident_ring.cuh"

namespace parhelion::bench {

/// What the computing warps of a block share between the phases of a step: products of weights from
/// the ring by numbers of the other blocks.
///
/// A warp has its own 128 columns of each 1024, from the words it reads to the sums it leaves, so
/// blocks meet once a phase: where rows are summed over warps.
class Worker {
 public:
  __device__ __forceinline__ Worker(const StepArgs& args, const Ring& ring, char* shared)
      : exchanger(args.exchange, args.pause, args.exchanged.state),
        lane(static_cast<int>(threadIdx.x) % 32),
        warp(static_cast<int>(threadIdx.x) / 32),
        block(static_cast<int>(blockIdx.x)),
        args_(args),
        layout_(args.model.shape),
        shared_(shared),
        ring_(ring) {}

  Exchanger exchanger;
  const int lane, warp, block;

  /// This lane's part of the sum of squares of `columns` numbers of `epoch`, which become the input
  /// of a product, times their gain where there is one.
  __device__ __forceinline__ float read_input(const Word* words, int columns, const Bf16* gain,
                                              std::uint32_t epoch) {
    constexpr int kBatch = 4;
    const int chunks = columns / kTileColumns;
    const int own = warp * kColumns + lane * 4;
    float squares = 0.0f;
    exchanger.begin_reading();
    for (int first = 0; first < chunks; first += kBatch) {
      const int count = min(kBatch, chunks - first);
      const auto column = [&](int i) { return (first + i) * kTileColumns + own; };
      uint2 gains[kBatch];
      uint2 numbers[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (gain != nullptr && i < count) gains[i] = four_of(gain + column(i));
      exchanger.read<kBatch>([&](int i) { return words + column(i) / 2; }, count, epoch, numbers);
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (i < count) squares += keep_input(first + i, numbers[i], gain != nullptr, gains[i]);
    }
    __syncwarp();
    return squares;
  }

  /// Sums of `groups` times eight rows over this warp's columns; settle() lets them be read.
  __device__ __forceinline__ void product(int groups, int columns) {
    const int chunks = columns / kTileColumns;
    float sums[4][4];
    uint4 input[4];
    turn_ ^= 1;
    for (int group = 0; group < groups; ++group) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        uint4 weights[4];
        load_weights(weights);
        if (chunks > 1 || group == 0) load_input(input, chunk);
        release_stage();
        if (chunk == 0 && group > 0) store_sums(group - 1, sums);
        if (chunk == 0) clear(sums);
        multiply(sums, input, weights);
      }
    }
    store_sums(groups - 1, sums);
  }

  /// Waits for the sums of all warps.
  __device__ __forceinline__ void settle() const { computing_barrier(); }

  /// Waits for the sums of all warps; 1 / rms of `columns` numbers from the lanes' parts.
  __device__ __forceinline__ float settle_norm(float squares, int columns) const {
    float* all = reinterpret_cast<float*>(shared_ + layout_.squares) + turn_ * kWarps;
    const float own = lane_sum(squares);
    if (lane == 0) all[warp] = own;
    computing_barrier();
    return rsqrtf(sum_of_warps(all) / static_cast<float>(columns) + kEpsilon);
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

  /// Lets the producer go on where it asks for nothing ahead.
  __device__ __forceinline__ void open_product() {
    ++opened_;
    if (threadIdx.x == 0) *reinterpret_cast<volatile int*>(shared_ + layout_.opened) = opened_;
  }

  __device__ __forceinline__ void input_is_there(int layer, int phase) const {
    mark(layer, 2 * phase);
  }

  __device__ __forceinline__ void output_is_written(int layer, int phase) {
    exchanger.end_writing();
    mark(layer, 2 * phase + 1);
  }

 private:
  __device__ __forceinline__ float* partials() const {
    return reinterpret_cast<float*>(shared_ + layout_.partials) +
           turn_ * layout_.most_rows * kWarps;
  }
  __device__ __forceinline__ char* own_input() const {
    return shared_ + layout_.input + warp * layout_.input_bytes;
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

  __device__ __forceinline__ void load_weights(uint4 (&weights)[4]) const {
    const char* from = await_stage() + lane / 4 * kRowBytes + warp * kTokenBytes + lane % 4 * 16;
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

  __device__ __forceinline__ void mark(int layer, int point) const {
    if (args_.marks == nullptr || block != 0 || threadIdx.x != 0) return;
    args_.marks[layer * kMarks + point] = clock64();
  }

  const StepArgs& args_;
  const SharedLayout layout_;
  char* shared_;
  Ring ring_;
  RingPlace place_;
  int turn_ = 0;
  int opened_ = 0;
};

}  // namespace parhelion::bench
