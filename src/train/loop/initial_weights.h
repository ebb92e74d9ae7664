#pragma once

#include "exec/executor.h"
#include "ir/program.h"
#include "model/adapters/lora.h"

#include <cstdint>
#include <span>

namespace parhelion::train {

/// Gives parameters random content: ones for those of rank 1, which norms are, and normal numbers
/// of standard deviation `deviation` for all others. A function of seed, names and shapes alone.
///
/// Errors: invalid if no plan of the executor names a parameter.
void initialise_weights(std::span<const ir::Buffer> parameters, double deviation,
                        std::uint64_t seed, exec::Executor& executor);

/// Gives adapters their first content: A uniform numbers of [-1, 1) / sqrt(inputs), B zeros, so
/// that the model's output is what it was. A function of seed, names and shapes alone.
///
/// Errors: as initialise_weights.
void initialise_adapters(const model::Lora& lora, std::span<const ir::Buffer> parameters,
                         std::uint64_t seed, exec::Executor& executor);

/// Gives the master of each parameter that has one in the step's program what the executor has of
/// that parameter now, widened.
///
/// Errors: invalid if no plan of the executor names a parameter or its master.
void initialise_masters(const ir::Program& step, exec::Executor& executor);

}  // namespace parhelion::train
