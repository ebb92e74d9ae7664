// The matmul kernels of every processor tier.
#include "exec/cpu/kernels/targets.h"

// clang-format off: Highway asks for this order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/matmul_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "base/error.h"
#include "exec/cpu/kernels/matmul_amx.h"
#include "exec/cpu/kernels/matmul_dot.h"
#include "exec/cpu/kernels/matmul_kernels.h"
#include "exec/cpu/kernels/matmul_pack-inl.h"
#include "exec/cpu/kernels/matmul_store-inl.h"
#include "exec/cpu/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

MatmulKernels matmul_target_kernels() {
  return {.tile_rows = kTileRows,
          .tile_columns = kTileColumns,
          .float_tiles = kFloatTiles.data(),
          .wide_tiles = kWideTiles.data(),
          .dot = {},
          .pack_float = &pack_float,
          .pack_wide = &pack_wide,
          .pack_pairs = &pack_pairs,
          .widen = &widen_panel,
          .store = &store_row,
          .fused = HWY_NATIVE_FMA != 0};
}

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {
namespace {

HWY_EXPORT(matmul_target_kernels);

std::int64_t highway_targets(Tier tier) {
  switch (tier) {
    case Tier::portable:
      return HWY_STATIC_TARGET;
    case Tier::avx2:
      return HWY_AVX2 | HWY_STATIC_TARGET;
    case Tier::avx512:
    case Tier::avx512_bf16:
    case Tier::amx_bf16:
      return HWY_AVX3 | HWY_STATIC_TARGET;
  }
  fail(ErrorKind::bug, "matmul: {} is no tier", static_cast<int>(tier));
}

}  // namespace

MatmulKernels matmul_kernels(Tier tier) {
  hwy::ChosenTarget target;
  target.Update(highway_targets(tier));
  MatmulKernels kernels = HWY_DISPATCH_TABLE(matmul_target_kernels)[target.GetIndex()]();
  if (tier == Tier::avx512_bf16) {
    kernels.dot = {
        .tiles = bf16_dot_tiles(), .rows = kDotRows, .depth_step = 2, .pack = kernels.pack_pairs};
  }
  if (tier == Tier::amx_bf16) {
    kernels.dot = {.tiles = amx_tiles(),
                   .rows = kAmxRows,
                   .pitch_step = 16,
                   .depth_step = 32,
                   .pack = &amx_pack_rows,
                   .release = &amx_release};
  }
  return kernels;
}

}  // namespace parhelion::exec::cpu
#endif  // HWY_ONCE
