#pragma once

#include "gpu_resident.h"
#include "gpu_resident_instructions.cuh"

namespace parhelion::bench {

inline constexpr int kWarps = 8;  ///< that compute
inline constexpr int kComputing = 32 * kWarps;

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

/// How blocks wait for each other's words.
///
/// Every phase begins with begin_reading and ends with end_writing, in all computing threads.
class Exchanger {
 public:
  __device__ __forceinline__ Exchanger(Exchange exchange, int pause, std::uint32_t* state)
      : exchange_(exchange), pause_(pause), state_(state), epoch_(state[0]), expected_(state[1]) {}

  /// The epoch before this launch.
  __device__ __forceinline__ std::uint32_t epoch() const { return epoch_; }

  __device__ __forceinline__ void begin_reading() const {
    if (exchange_ != Exchange::counter) return;
    if (threadIdx.x == 0) await_arrivals();
    computing_barrier();
  }

  __device__ __forceinline__ void end_writing() {
    if (exchange_ != Exchange::counter) return;
    expected_ += kBlocks;
    computing_barrier();
    if (threadIdx.x == 0)
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(state_ + 2) : "memory");
  }

  /// The payloads of up to `most` pairs of words of `epoch`: pair i at at(i), for i < count. All
  /// lanes of a warp take part.
  template <int most, class At>
  __device__ __forceinline__ void read(const At& at, int count, std::uint32_t epoch,
                                       uint2 (&payloads)[most]) const {
    ulonglong2 words[most] = {};
    unsigned missing = (1u << count) - 1;
    Watchdog dog;
    while (true) {
#pragma unroll
      for (int i = 0; i < most; ++i) load_words(words[i], at(i), (missing >> i & 1) != 0);
#pragma unroll
      for (int i = 0; i < most; ++i)
        if (written_in(words[i], epoch)) missing &= ~(1u << i);
      if (exchange_ == Exchange::none || __all_sync(kAllLanes, missing == 0)) break;
      if (pause_ > 0) __nanosleep(static_cast<unsigned>(pause_));
      dog.look("words of other blocks");
    }
#pragma unroll
    for (int i = 0; i < most; ++i)
      payloads[i] =
          make_uint2(static_cast<unsigned>(words[i].x), static_cast<unsigned>(words[i].y));
  }

  /// By one thread of all, once every block has told its last words: state for the next launch.
  __device__ __forceinline__ void close(std::uint32_t epochs) const {
    state_[0] = epoch_ + epochs;
    state_[1] = expected_;
  }

 private:
  __device__ __forceinline__ void await_arrivals() const {
    Watchdog dog;
    while (true) {
      std::uint32_t arrived;
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(arrived)
                   : "l"(state_ + 2)
                   : "memory");
      if (static_cast<std::int32_t>(arrived - expected_) >= 0) return;
      dog.look("arrivals");
    }
  }

  Exchange exchange_;
  int pause_;
  std::uint32_t* state_;
  std::uint32_t epoch_;
  std::uint32_t expected_;
};

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

}  // namespace parhelion::bench
