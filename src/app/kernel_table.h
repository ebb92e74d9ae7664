#pragma once

#include "exec/roofline.h"

#include <string>

namespace parhelion::app {

/// The kernels of a plan, one a line with what it does and why others refused its ops, then their
/// sums by kernel; with a roofline the least time of each.
std::string print_kernels(const exec::Plan& plan, const exec::Roofline* roofline);

std::string print_roofline(const exec::Roofline& roofline);

}  // namespace parhelion::app
