#include "exec/cpu/kernels/step.h"

#include "exec/cpu/kernels/noise.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"
#include "ir/ops/step.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/step.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/noise-inl.h"
#include "exec/cpu/kernels/simd-inl.h"

#include <array>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

float squared_norm_block(const float* x, std::int64_t count) {
  const F32 d;
  return fold_lanes<AddFold>(count, 0.0f, [&](Vec32 partial, std::int64_t i, auto extent) {
    const Vec32 value = load(d, x + i, extent);
    return hn::MulAdd(value, value, partial);
  });
}

template <class T>
void dropout_block(const Dropout& args, std::uint64_t seed, std::int64_t first) {
  const F32 d;
  const hn::Rebind<std::int32_t, F32> d32;
  std::array<std::uint16_t, kNoiseBlock + kNoiseMargin> noise = {};
  fill_noise(seed, args.tag, first, noise.data());
  const T* x = static_cast<const T*>(args.x) + first;
  T* y = static_cast<T*>(args.y) + first;
  const auto below = hn::Set(d32, args.threshold - 1);
  for_vectors(std::min(kNoiseBlock, args.count - first), [&](std::int64_t i, auto extent) {
    const auto drawn = hn::BitCast(d32, load_noise(noise.data() + i));
    const auto kept = hn::RebindMask(d, hn::Gt(drawn, below));
    const Vec32 value = hn::Mul(load(d, x + i, extent), hn::Set(d, args.factor));
    store(d, hn::IfThenElseZero(kept, value), y + i, extent);
  });
}

void dropout_blocks(const Dropout& args, std::uint64_t seed, std::int64_t begin, std::int64_t end) {
  const auto run = args.is_bf16 ? &dropout_block<BFloat16> : &dropout_block<float>;
  for (std::int64_t block = begin; block < end; ++block) run(args, seed, block * kNoiseBlock);
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(squared_norm_block);
HWY_EXPORT(dropout_blocks);

std::int64_t squared_norm_blocks(std::int64_t count) {
  return (count + ir::kSquaredNormBlock - 1) / ir::kSquaredNormBlock;
}

float squared_norm(const float* x, std::int64_t count, float* block_sums, int threads) {
  const std::int64_t blocks = squared_norm_blocks(count);
  parallel_ranges(blocks, grain_of(ir::kSquaredNormBlock), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t block = begin; block < end; ++block) {
                      const std::int64_t first = block * ir::kSquaredNormBlock;
                      block_sums[block] = HWY_DYNAMIC_DISPATCH(squared_norm_block)(
                          x + first, std::min(ir::kSquaredNormBlock, count - first));
                    }
                  });
  double sum = 0;
  for (std::int64_t block = 0; block < blocks; ++block)
    sum += static_cast<double>(block_sums[block]);
  return static_cast<float>(sum);
}

void dropout(const Dropout& args, std::uint64_t seed, int threads) {
  parallel_ranges((args.count + kNoiseBlock - 1) / kNoiseBlock, grain_of(kNoiseBlock), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(dropout_blocks)(args, seed, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif  // HWY_ONCE
