#pragma once

#include "exec/cuda/cuda_executor.h"

#include <memory>
#include <string>

namespace parhelion::app {

/// What a command computes on.
struct ExecutorChoice {
  std::string device = "cpu";  ///< cpu or cuda
  int threads = 0;             ///< of the processor; 0 = all
  std::string numerics = "exact";
};

/// Errors: as make_cpu_executor and make_cuda_executor; invalid if the numerics have no such name.
std::unique_ptr<exec::Executor> make_executor(const ExecutorChoice& choice);

}  // namespace parhelion::app
