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
  const std::size_t colon = text.find(':');
  const std::string_view numerics =
      colon == std::string_view::npos ? "exact" : text.substr(colon + 1);
  return exec::make_cuda_executor(
      {.numerics = exec::numerics_named(numerics), .plan_cache = "build/plan_cache"});
}

}  // namespace parhelion::bench
