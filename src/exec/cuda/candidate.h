#pragma once

#include "exec/cuda/cuda_executor.h"
#include "exec/op_view.h"

#include <cstddef>
#include <cuda_runtime_api.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::exec::cuda {

class Libraries;
class RowLayouts;

/// What kernels are planned for.
struct Device {
  std::string name;
  int ordinal = 0;
  int compute_capability = 0;  ///< 90 is Hopper
  int multiprocessors = 0;
  Numerics numerics = Numerics::exact;
  bool tf32 = false;
  MemoryChecks checks = MemoryChecks::off;
  Fusions fusions = Fusions::on;
  Libraries* libraries = nullptr;     ///< handles and plan cache of the executor
  RowLayouts* row_layouts = nullptr;  ///< of the plan that kernels are planned for
};

/// Addresses of one launch. They are on the device and stay the same in every launch of a plan.
struct LaunchArgs {
  std::span<std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* workspace = nullptr;  ///< aligned to 256
  const bool* gate = nullptr;      ///< on the device; null: always
  cudaStream_t stream = nullptr;

  template <class T>
  const T* in(std::size_t index) const {
    return reinterpret_cast<const T*>(inputs[index]);
  }
  template <class T>
  T* out(std::size_t index) const {
    return reinterpret_cast<T*>(outputs[index]);
  }
};

/// A planned op, or group of ops.
struct Kernel {
  virtual ~Kernel() = default;
  /// Called once, after planning, with the addresses of all later launches.
  virtual void bind(const LaunchArgs&) {}
  /// Enqueues the work. It is captured into a graph: no allocation, no synchronisation.
  virtual void launch(const LaunchArgs& args) = 0;
  std::int64_t workspace_bytes = 0;
  bool needs_capture = false;  ///< `launch` only where the stream is being captured
};

/// A kernel that is one callable.
template <class Call>
struct CallKernel final : Kernel {
  explicit CallKernel(Call of) : call(std::move(of)) {}
  void launch(const LaunchArgs& args) override { call(args); }
  Call call;
};

template <class Call>
std::unique_ptr<Kernel> make_kernel(std::int64_t workspace_bytes, Call call) {
  auto kernel = std::make_unique<CallKernel<Call>>(std::move(call));
  kernel->workspace_bytes = workspace_bytes;
  return kernel;
}

/// One way to run an op.
struct Candidate {
  std::string_view name;
  std::string_view (*refuses)(const OpView& op,
                              const Device& device) = nullptr;  ///< the reason; empty = accepts
  std::string (*numerics)(const OpView& op, const Device& device) = nullptr;
  std::unique_ptr<Kernel> (*plan)(const OpView& op, const Device& device) = nullptr;
  /// One kernel for ops of this family that follow each other; their operands stand one op after
  /// the other. Null: each op has its own.
  std::unique_ptr<Kernel> (*plan_group)(std::span<const OpView> ops,
                                        const Device& device) = nullptr;
  bool gated = false;  ///< its kernel heeds `LaunchArgs::gate`
};

/// The candidates of a family, best first.
std::vector<Candidate> candidates(const ir::Op& op);

/// For families of our own kernels, whose bits follow from the GPU alone.
std::string own_numerics(const OpView& op, const Device& device);
std::string_view never_refuses(const OpView& op, const Device& device);

}  // namespace parhelion::exec::cuda
