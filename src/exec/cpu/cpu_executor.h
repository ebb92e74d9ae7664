#pragma once

#include "exec/executor.h"

#include <memory>

namespace parhelion::exec {

/// How far vector instructions may go; results have equal bits on one level of one processor
/// family.
enum class CpuLevel : std::uint8_t { portable, avx2, avx512, widest };

struct CpuOptions {
  int threads = 1;
  CpuLevel level = CpuLevel::widest;
};

/// An executor on this machine's processor: the oracle of every op family.
///
/// Errors: unsupported if the processor lacks the level; invalid if threads < 1.
std::unique_ptr<Executor> make_cpu_executor(const CpuOptions& options);

}  // namespace parhelion::exec
