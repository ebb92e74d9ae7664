#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>

namespace parhelion::test {

/// Runs body() once per instruction set that kernels are compiled for and this processor has: the
/// portable one, AVX2, and the widest. Only these are then dispatched to.
template <class Body>
void on_each_vector_target(const Body& body) {
  for (const std::int64_t target : {HWY_STATIC_TARGET, HWY_AVX2, HWY_AVX3}) {
    const bool is_present = target == HWY_STATIC_TARGET || (hwy::SupportedTargets() & target) != 0;
    if (!is_present) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace parhelion::test
