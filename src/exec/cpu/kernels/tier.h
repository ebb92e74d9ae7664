#pragma once

#include <cstdint>
#include <string_view>

namespace parhelion::exec::cpu {

/// What the kernels may ask of a processor, ascending: a processor of one tier runs all before it.
enum class Tier : std::uint8_t {
  portable,     ///< no fused multiply-add assumed; for correctness alone
  avx2,         ///< AVX2 and FMA, 8 f32 lanes
  avx512,       ///< AVX-512 F, BW, DQ and VL, 16 f32 lanes
  avx512_bf16,  ///< and products of bf16 pairs
  amx_bf16,     ///< and products of bf16 tiles, which Linux lets this process use
};

/// The best tier that this processor and its operating system offer.
Tier widest_tier();

/// The tier's name, such as `avx512_bf16`.
std::string_view name(Tier tier);

}  // namespace parhelion::exec::cpu
