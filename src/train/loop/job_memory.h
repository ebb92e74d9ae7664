#pragma once

#include "ir/program.h"

#include <cstdint>

namespace parhelion::train {

/// Memory that a job holds, in bytes. `bound` is what no plan can be below.
struct JobMemory {
  std::int64_t parameters = 0;
  std::int64_t frozen_copies = 0;  ///< of weights under adapters, laid out for products
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t constants = 0;
  std::int64_t activations = 0;  ///< of the largest bucket
  std::int64_t activations_bound = 0;
  std::int64_t total() const {
    return parameters + frozen_copies + gradients + optimizer + constants + activations;
  }
};

/// What a step's program holds whatever a pass is: all but activations.
JobMemory lasting_memory(const ir::Program& step);

/// Adds the activations of an instance of a pass.
void add_activations(JobMemory& memory, const ir::Program& microbatch);

}  // namespace parhelion::train
