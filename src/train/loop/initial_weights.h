#pragma once

#include "exec/executor.h"
#include "ir/program.h"

#include <cstdint>
#include <span>

namespace parhelion::train {

/// Gives parameters random content: ones for those of rank 1, which norms are, and normal numbers
/// of standard deviation `deviation` for all others. A function of seed, names and shapes alone.
///
/// Errors: invalid if no plan of the executor names a parameter.
void initialise_weights(std::span<const ir::Buffer> parameters, double deviation,
                        std::uint64_t seed, exec::Executor& executor);

}  // namespace parhelion::train
