#pragma once

#include "exec/executor.h"

namespace parhelion::train {

/// The rate of the executor's matmul at a shape that suits it, measured for some thirty
/// milliseconds: what a training step can reach at best.
///
/// Units: FLOP per second
double measure_matmul_peak(exec::Executor& executor, ir::Kind kind);

}  // namespace parhelion::train
