#pragma once

#include "exec/cpu/cpu_executor.h"
#include "exec/cuda/cuda_executor.h"

#include <cstdlib>
#include <memory>
#include <string_view>

namespace parhelion::bench {

/// The executor that `text` names: a number of threads, or cuda, cuda:invariant, cuda:fast.
inline std::unique_ptr<exec::Executor> make_executor(std::string_view text) {
  if (!text.starts_with("cuda"))
    return exec::make_cpu_executor({.threads = std::atoi(text.data())});
  exec::CudaOptions options{.plan_cache = "build/plan_cache"};
  if (text.ends_with(":invariant")) options.numerics = exec::Numerics::invariant;
  if (text.ends_with(":fast")) options.numerics = exec::Numerics::fast;
  return exec::make_cuda_executor(options);
}

}  // namespace parhelion::bench
