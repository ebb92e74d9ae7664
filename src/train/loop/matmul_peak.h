#pragma once

#include "exec/executor.h"

namespace parhelion::train {

/// The rate of the executor's matmul at a shape that suits its device, the best one of a tenth of a
/// second: what a training step can reach at best. A machine that is busy all that time gives less.
///
/// Units: FLOP per second
double measure_matmul_peak(exec::Executor& executor, ir::Kind kind);

}  // namespace parhelion::train
