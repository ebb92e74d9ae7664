#pragma once

#include "exec/executor.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace parhelion::exec {

/// What is promised of the bits of a row.
enum class Numerics : std::uint8_t {
  exact,      ///< equal through training and serving, at any capacity and batch
  invariant,  ///< equal through serving, at any capacity and batch
  fast,       ///< no promise
};
std::string_view name(Numerics numerics);
/// Errors: invalid if none is named so.
Numerics numerics_named(std::string_view name);

/// Whether every output is poisoned before it is written and guarded at both ends: for tests.
enum class MemoryChecks : std::uint8_t { off, on };

/// Whether one kernel may run ops of several families that follow each other. Off: for tests and to
/// time single ops.
enum class Fusions : std::uint8_t { off, on };

struct CudaOptions {
  int ordinal = 0;
  Numerics numerics = Numerics::exact;
  bool tf32 = false;                      ///< f32 products may be rounded to TF32
  std::filesystem::path plan_cache = {};  ///< where library plans are kept; empty: nowhere
  MemoryChecks checks = MemoryChecks::off;
  Fusions fusions = Fusions::on;
};

/// A GPU as a program that is made for it names it.
struct CudaDevice {
  std::string name;
  std::string architecture;  ///< such as `sm_90`
  std::int64_t memory_bytes = 0;
};

/// Errors: unsupported if this build has no CUDA, or there is no such GPU.
CudaDevice cuda_device(int ordinal = 0);

/// An executor on one NVIDIA GPU: a plan is a captured graph over planned memory.
///
/// Errors: unsupported if this build has no CUDA, there is no such GPU, or its architecture or a
///         library is too old; device if CUDA fails.
std::unique_ptr<Executor> make_cuda_executor(const CudaOptions& options);

}  // namespace parhelion::exec
