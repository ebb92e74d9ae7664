#include "exec/cpu/kernels/tier.h"

#include "base/error.h"
#include "exec/cpu/kernels/matmul_amx.h"
#include "exec/cpu/kernels/matmul_dot.h"

#include <hwy/targets.h>

namespace parhelion::exec::cpu {

Tier widest_tier() {
  const std::int64_t targets = hwy::SupportedTargets();
  if ((targets & HWY_AVX3) != 0) {
    if (!processor_has_bf16_dot()) return Tier::avx512;
    return processor_has_amx() ? Tier::amx_bf16 : Tier::avx512_bf16;
  }
  return (targets & HWY_AVX2) != 0 ? Tier::avx2 : Tier::portable;
}

std::string_view name(Tier tier) {
  switch (tier) {
    case Tier::portable:
      return "portable";
    case Tier::avx2:
      return "avx2";
    case Tier::avx512:
      return "avx512";
    case Tier::avx512_bf16:
      return "avx512_bf16";
    case Tier::amx_bf16:
      return "amx_bf16";
  }
  fail(ErrorKind::bug, "tier: {} is no tier", static_cast<int>(tier));
}

}  // namespace parhelion::exec::cpu
