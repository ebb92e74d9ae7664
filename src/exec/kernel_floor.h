#pragma once

#include "exec/roofline.h"

#include <vector>

namespace parhelion::exec {

/// What bounds a kernel's time.
enum class Bound : std::uint8_t { bytes, flops, launches };
std::string_view name(Bound bound);

/// What one kernel of a plan does, and the least time in which a device can do it.
struct KernelFloor {
  std::size_t first_op = 0;  ///< it runs ops [first_op, first_op + op_count)
  std::int64_t op_count = 1;
  std::int64_t launches = 1;
  ir::Cost cost = {};  ///< of its ops, without the bytes that they hand to each other within it
  double seconds = 0;
  Bound bound = Bound::bytes;
};

/// The kernels of a plan in order. Without a roofline, times stay 0.
std::vector<KernelFloor> kernel_floors(const Plan& plan, const Roofline* roofline = nullptr);

}  // namespace parhelion::exec
