#pragma once

#include "exec/executor.h"

namespace parhelion::exec {

/// The most that a device was seen to do.
struct Roofline {
  double bytes_per_second = 0;  ///< of copies, read and written bytes added up
  double f32_flops_per_second = 0;
  double bf16_flops_per_second = 0;
  double launch_seconds = 0;  ///< of a launch that has next to nothing to do
};

/// Runs programs of its own on the executor, whose memory grows by theirs.
///
/// Errors: as Executor::plan.
Roofline measure_roofline(Executor& executor);

/// The first of a roofline's figures alone.
double measure_copy_bandwidth(Executor& executor);

}  // namespace parhelion::exec
