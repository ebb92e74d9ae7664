#pragma once

#include "exec/cuda/kernels/resident_worker.cuh"

#include <cmath>

namespace parhelion::exec::cuda::resident {

/// Attention of one row over paged keys: a block has a split of the keys of one key head and all
/// `group` query heads of it; a warp has eight keys of each stage. Few keys are one block's.
template <int group>
class SplitAttention {
 public:
  __device__ __forceinline__ SplitAttention(const ResidentStep& args, Worker& worker, char* shared)
      : args_(args),
        worker_(worker),
        row_(args.row),
        lane_(worker.lane),
        head_(worker.block / kSplits),
        split_(worker.block % kSplits),
        scale_(args.scale * 1.4426950408889634f) {
    const SharedLayout layout(args.shape);
    queries_ = shared + layout.queries + worker.warp * group * kTokenBytes;
    chances_ = reinterpret_cast<float*>(shared + layout.chances) + worker.warp * group * 12;
    merged_ = reinterpret_cast<float*>(shared + layout.merged);
    find_angles();
  }

  /// From words of q, k and v to words of this split's output, or of the whole output.
  __device__ __forceinline__ void attend(const ResidentLayer& layer, std::uint32_t epoch) {
    if (split_ >= row_.splits) return;
    float queries[group][4];
    float key[4];
    float value[4];
    read_heads(layer, epoch, queries, key, value);
    load_queries();
    forget();
    see_pages();
    if (has_last_warp()) {
      if (row_.has_new) see_new_key(queries, key, value);
      if (row_.location >= 0) cache_new_key(layer, key, value);
    }
    merge_warps();
    if (row_.splits == 1) {
      write_whole(epoch);
    } else {
      write_split(epoch);
    }
  }

  /// From words of all splits to words of this block's columns of the output: a word, two columns,
  /// is of a warp's halves, in which a lane has a split.
  __device__ __forceinline__ void merge_splits(std::uint32_t epoch) {
    if (row_.splits == 1) return;
    constexpr int kWords = group * kColumns / 2 / kSplits;  // of the block
    constexpr int kMost = (kWords + kWarps - 1) / kWarps;   // of a warp
    const int first = split_ * kWords + worker_.warp;
    const int count = (kWords - worker_.warp + kWarps - 1) / kWarps;
    const Word* parts =
        args_.words.parts + std::int64_t{head_ * kSplits + lane_ % 16} * group * kColumns * 2;
    uint2 seen[kMost];
    await_words<kMost>([&](int i) { return parts + ((first + i * kWarps) * 2 + lane_ / 16) * 2; },
                       count, epoch, seen);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i >= count) break;
      const float own = merged_output(__uint_as_float(seen[i].x), __uint_as_float(seen[i].y));
      const float next = __shfl_xor_sync(kAllLanes, own, 16);
      if (lane_ == 0)
        store_word(args_.words.attended + head_ * group * kColumns / 2 + first + i * kWarps,
                   packed(own, next), epoch);
    }
  }

 private:
  /// Whether this warp sees the new key and writes it.
  __device__ __forceinline__ bool has_last_warp() const {
    return split_ == row_.splits - 1 && worker_.warp == 0;
  }

  __device__ __forceinline__ void see_pages() {
    const TileRange range(row_, split_);
    const int end = min(range.last * kKeyTile, row_.past) - worker_.warp * 8;
    for (int token = range.first * kKeyTile; token < range.last * kKeyTile; token += kStageKeys) {
      const int keys = min(max(end - token, 0), 8);
      score(keys);
      weigh(keys);
    }
  }

  /// cos and sin of this lane's four columns, sin with the sign of its half.
  __device__ __forceinline__ void find_angles() {
    const float* turns = args_.row.turns + std::int64_t{row_.position} * kColumns + lane_ % 16 * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      cos_[i] = turns[i];
      sin_[i] = lane_ < 16 ? -turns[kColumns / 2 + i] : turns[kColumns / 2 + i];
    }
  }

  /// Four columns a lane: of all queries, and of the new key and value in the warp that sees them.
  __device__ __forceinline__ void read_heads(const ResidentLayer& layer, std::uint32_t epoch,
                                             float (&queries)[group][4], float (&key)[4],
                                             float (&value)[4]) {
    const bool has_norms = layer.query_gain != nullptr;
    const uint2 query_gain = has_norms ? Worker::four_of(layer.query_gain + lane_ * 4) : uint2{};
    const uint2 key_gain = has_norms ? Worker::four_of(layer.key_gain + lane_ * 4) : uint2{};
    const auto words_of = [&](int i) {
      int at = head_ * group + i;
      if (i == group) at = args_.shape.heads + head_;
      if (i > group) at = args_.shape.heads + kKeyHeads + head_;
      return args_.words.qkv + (at * kColumns + lane_ * 4) / 2;
    };
    uint2 numbers[group + 2];
    await_words<group + 2>(words_of, has_last_warp() ? group + 2 : group, epoch, numbers);
#pragma unroll
    for (int i = 0; i < group; ++i) {
      turn(numbers[i], has_norms, query_gain, queries[i]);
      *reinterpret_cast<uint2*>(queries_ + i * kTokenBytes + lane_ * 8) = stored(queries[i]);
    }
    turn(numbers[group], has_norms, key_gain, key);
    unpack(numbers[group + 1], value);
    __syncwarp();
  }

  /// A head's norm and rope, each rounded to bf16.
  __device__ __forceinline__ void turn(uint2 numbers, bool has_norm, uint2 gain,
                                       float (&result)[4]) const {
    float x[4];
    unpack(numbers, x);
    if (has_norm) norm(x, gain);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float other = __shfl_xor_sync(kAllLanes, x[i], 16);
      result[i] = rounded(x[i] * cos_[i] + other * sin_[i]);
    }
  }

  __device__ __forceinline__ void norm(float (&x)[4], uint2 gain) const {
    float gains[4];
    unpack(gain, gains);
    const float squares = lane_sum(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    const float scale = rsqrtf(squares / kColumns + args_.head_eps);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = rounded(x[i] * scale * gains[i]);
  }

  __device__ __forceinline__ void load_queries() {
    const char* from = queries_ + lane_ / 4 * kTokenBytes + lane_ % 4 * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      loaded_[i] = lane_ / 4 < group ? *reinterpret_cast<const uint4*>(from + i * 64) : uint4{};
  }

  __device__ __forceinline__ void forget() {
    most_ = -INFINITY;
    sum_ = 0.0f;
#pragma unroll
    for (int i = 0; i < group * 4; ++i) output_[i / 4][i % 4] = 0.0f;
  }

  /// Chances of this warp's keys in the next stage, of which `keys` are there.
  __device__ __forceinline__ void score(int keys) {
    uint4 rows[4];
    load_keys(rows);
    worker_.release_stage();
    if (keys == 0) return;
    float sums[4][4] = {};
    Worker::multiply(sums, loaded_, rows);
    const int key = lane_ % 4 * 2;
    const float first = key < keys ? score_of(sums, 0) : -INFINITY;
    const float second = key + 1 < keys ? score_of(sums, 1) : -INFINITY;
    float most = fmaxf(first, second);
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most_, fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2)));
    const float2 chances = make_float2(exp2f(first - most), exp2f(second - most));
    const float fade = exp2f(most_ - most);
    float sum = chances.x + chances.y;
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    sum_ = sum_ * fade + sum;
    most_ = most;
    keep_chances(chances, fade);
  }

  /// Rows of keys lie 256 bytes apart: odd rows read the two halves of 128 bytes in the other
  /// order, so that two rows meet no bank twice.
  __device__ __forceinline__ void load_keys(uint4 (&rows)[4]) const {
    const char* from =
        worker_.await_stage() + (worker_.warp * 8 + lane_ / 4) * kTokenBytes + lane_ % 4 * 16;
    const bool odd = lane_ / 4 % 2 != 0;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const uint4 one = *reinterpret_cast<const uint4*>(from + (odd ? i + 1 : i) * 64);
      const uint4 other = *reinterpret_cast<const uint4*>(from + (odd ? i : i + 1) * 64);
      rows[i] = odd ? other : one;
      rows[i + 1] = odd ? one : other;
    }
  }

  /// In powers of two.
  __device__ __forceinline__ float score_of(const float (&sums)[4][4], int i) const {
    return (sums[0][i] + sums[1][i] + (sums[2][i] + sums[3][i])) * scale_;
  }

  __device__ __forceinline__ void keep_chances(float2 chances, float fade) const {
    const int head = lane_ / 4;
    if (head < group) {
      *reinterpret_cast<float2*>(chances_ + head * 12 + lane_ % 4 * 2) = chances;
      if (lane_ % 4 == 0) chances_[head * 12 + 8] = fade;
    }
    __syncwarp();
  }

  /// Adds the values in the next stage by the chances of its keys.
  __device__ __forceinline__ void weigh(int keys) {
    const char* from = worker_.await_stage() + worker_.warp * 8 * kTokenBytes + lane_ * 8;
    if (keys > 0) fade_output();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i >= keys) break;
      float value[4];
      unpack(*reinterpret_cast<const uint2*>(from + i * kTokenBytes), value);
#pragma unroll
      for (int j = 0; j < group; ++j) add_value(j, chances_[j * 12 + i], value);
    }
    worker_.release_stage();
  }

  __device__ __forceinline__ void fade_output() {
#pragma unroll
    for (int i = 0; i < group * 4; ++i) output_[i / 4][i % 4] *= chances_[i / 4 * 12 + 8];
  }

  __device__ __forceinline__ void add_value(int head, float chance, const float (&value)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) output_[head][i] = fmaf(chance, value[i], output_[head][i]);
  }

  __device__ __forceinline__ void see_new_key(const float (&queries)[group][4],
                                              const float (&key)[4], const float (&value)[4]) {
#pragma unroll
    for (int j = 0; j < group; ++j) {
      float score = 0.0f;
#pragma unroll
      for (int i = 0; i < 4; ++i) score = fmaf(queries[j][i], key[i], score);
      score = lane_sum(score) * scale_;
      const float before = __shfl_sync(kAllLanes, most_, 4 * j);
      const float most = fmaxf(before, score);
      const float chance = exp2f(score - most);
      const float fade = exp2f(before - most);
      if (lane_ / 4 == j) {
        sum_ = sum_ * fade + chance;
        most_ = most;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) output_[j][i] *= fade;
      add_value(j, chance, value);
    }
  }

  __device__ __forceinline__ void cache_new_key(const ResidentLayer& layer, const float (&key)[4],
                                                const float (&value)[4]) const {
    const std::int64_t to =
        (row_.location * kKeyHeads + head_) * std::int64_t{kColumns} + lane_ * 4;
    *reinterpret_cast<uint2*>(layer.keys + to) = stored(key);
    *reinterpret_cast<uint2*>(layer.values + to) = stored(value);
  }

  __device__ __forceinline__ void merge_warps() const {
    float* own = merged_ + worker_.warp * group * (kColumns + 2);
#pragma unroll
    for (int j = 0; j < group; ++j) {
      float* row = own + j * (kColumns + 2);
#pragma unroll
      for (int i = 0; i < 4; i += 2)
        *reinterpret_cast<float2*>(row + lane_ * 4 + i) =
            make_float2(output_[j][i], output_[j][i + 1]);
      if (lane_ == 4 * j) *reinterpret_cast<float2*>(row + kColumns) = make_float2(most_, sum_);
    }
    computing_barrier();
  }

  /// A column of the group's heads: the mean of its values in this split, and log2 of their weight.
  __device__ __forceinline__ float2 column_of_split(int column) const {
    const float* row = merged_ + column / kColumns * (kColumns + 2);
    constexpr int kWarpFloats = group * (kColumns + 2);
    float most = -INFINITY;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, row[w * kWarpFloats + kColumns]);
    if (most == -INFINITY) return make_float2(0.0f, -INFINITY);
    float sum = 0.0f;
    float output = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float* from = row + w * kWarpFloats;
      const float weight = exp2f(from[kColumns] - most);
      sum = fmaf(weight, from[kColumns + 1], sum);
      output = fmaf(weight, from[column % kColumns], output);
    }
    return make_float2(output / sum, most + log2f(sum));
  }

  __device__ __forceinline__ void write_split(std::uint32_t epoch) const {
    Word* to = args_.words.parts + std::int64_t{worker_.block} * group * kColumns * 2;
    for (int u = static_cast<int>(threadIdx.x); u < group * kColumns; u += kComputing) {
      const float2 column = column_of_split(u);
      store_words(to + u * 2, __float_as_uint(column.x), __float_as_uint(column.y), epoch);
    }
  }

  __device__ __forceinline__ void write_whole(std::uint32_t epoch) const {
    write_rows(args_.words.attended + head_ * group * kColumns / 2, group * kColumns, epoch,
               [&](int column) { return column_of_split(column).x; });
  }

  /// The mean of sixteen lanes' outputs by their weights.
  static __device__ __forceinline__ float merged_output(float output, float log_weight) {
    float most = log_weight;
#pragma unroll
    for (int step = 8; step > 0; step /= 2)
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, step));
    float weight = exp2f(log_weight - most);
    float sum = weight * output;
#pragma unroll
    for (int step = 8; step > 0; step /= 2) {
      weight += __shfl_xor_sync(kAllLanes, weight, step);
      sum += __shfl_xor_sync(kAllLanes, sum, step);
    }
    return sum / weight;
  }

  static __device__ __forceinline__ void unpack(uint2 numbers, float (&x)[4]) {
    const float2 low = unpacked(numbers.x);
    const float2 high = unpacked(numbers.y);
    x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
  }

  static __device__ __forceinline__ uint2 stored(const float (&x)[4]) {
    return make_uint2(packed(x[0], x[1]), packed(x[2], x[3]));
  }

  const ResidentStep& args_;
  Worker& worker_;
  const Row row_;
  const int lane_, head_, split_;
  const float scale_;  // of scores, in powers of two
  char* queries_;
  float* chances_;
  float* merged_;
  float cos_[4], sin_[4];
  uint4 loaded_[4];
  float most_ = 0.0f, sum_ = 0.0f;  // of head lane / 4
  float output_[group][4];          // of columns lane * 4 on
};

}  // namespace parhelion::exec::cuda::resident
