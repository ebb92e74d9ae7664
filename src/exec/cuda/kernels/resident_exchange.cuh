#pragma once

#include "exec/cuda/kernels/resident.h"
#include "exec/cuda/kernels/resident_instructions.cuh"

namespace parhelion::exec::cuda::resident {

using Bf16 = __nv_bfloat16;
using Word = ResidentWord;

inline constexpr int kBlocks = kResidentBlocks;
inline constexpr int kKeyHeads = kResidentKeyHeads;
inline constexpr int kColumns = kResidentColumns;
inline constexpr int kWarps = 8;  ///< that compute
inline constexpr int kComputing = 32 * kWarps;
/// Between two polls: fewer leave the L2 to those who write.
inline constexpr unsigned kPollPauseNanoseconds = 100;

__device__ __forceinline__ void computing_barrier() {
  asm volatile("bar.sync 1, %0;" ::"n"(kComputing) : "memory");
}

__device__ __forceinline__ Word word_of(std::uint32_t bits, std::uint32_t epoch) {
  return Word{epoch} << 32 | bits;
}

__device__ __forceinline__ void store_word(Word* to, std::uint32_t bits, std::uint32_t epoch) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word_of(bits, epoch))
               : "memory");
}

__device__ __forceinline__ void store_words(Word* to, std::uint32_t first, std::uint32_t second,
                                            std::uint32_t epoch) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(word_of(first, epoch)),
               "l"(word_of(second, epoch))
               : "memory");
}

/// Two words that follow each other, where `wanted`; each is whole, as it was written at once.
__device__ __forceinline__ void load_words(ulonglong2& words, const Word* from, bool wanted) {
  asm volatile(
      "{ .reg .pred p;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "@p ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2]; }"
      : "+l"(words.x), "+l"(words.y)
      : "l"(from), "r"(static_cast<unsigned>(wanted))
      : "memory");
}

__device__ __forceinline__ bool written_in(const ulonglong2& words, std::uint32_t epoch) {
  return words.x >> 32 == epoch && words.y >> 32 == epoch;
}

/// The payloads of up to `most` pairs of words once they are of `epoch`: pair i at at(i), for i <
/// count. All lanes of a warp take part.
template <int most, class At>
__device__ __forceinline__ void await_words(const At& at, int count, std::uint32_t epoch,
                                            uint2 (&payloads)[most]) {
  ulonglong2 words[most] = {};
  unsigned missing = (1u << count) - 1;
  Watchdog dog;
  while (true) {
#pragma unroll
    for (int i = 0; i < most; ++i) load_words(words[i], at(i), (missing >> i & 1) != 0);
#pragma unroll
    for (int i = 0; i < most; ++i)
      if (written_in(words[i], epoch)) missing &= ~(1u << i);
    if (__all_sync(kAllLanes, missing == 0)) break;
    __nanosleep(kPollPauseNanoseconds);
    dog.look("words of other blocks");
  }
#pragma unroll
  for (int i = 0; i < most; ++i)
    payloads[i] = make_uint2(static_cast<unsigned>(words[i].x), static_cast<unsigned>(words[i].y));
}

/// value(row) in bf16 of `rows` rows, an even number, by all computing threads: row r is of thread
/// r modulo their number.
template <class Value>
__device__ __forceinline__ void write_rows(Word* to, int rows, std::uint32_t epoch,
                                           const Value& value) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int first = warp * 32; first < rows; first += kComputing) {
    const int row = first + lane;
    const float own = row < rows ? value(row) : 0.0f;
    const float next = __shfl_down_sync(kAllLanes, own, 1);
    if (row < rows && lane % 2 == 0) store_word(to + row / 2, packed(own, next), epoch);
  }
}

}  // namespace parhelion::exec::cuda::resident
