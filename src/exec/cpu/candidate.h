#pragma once

#include "exec/cpu/kernels/tier.h"
#include "exec/executor.h"
#include "exec/op_view.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::exec::cpu {

/// What kernels are planned for.
struct Device {
  Tier tier = Tier::portable;
  int threads = 1;
};

/// Addresses of one run.
struct LaunchArgs {
  std::span<std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::span<std::byte> workspace;  ///< aligned to 64

  template <class T>
  const T* in(std::size_t index) const {
    return reinterpret_cast<const T*>(inputs[index]);
  }
  template <class T>
  T* out(std::size_t index) const {
    return reinterpret_cast<T*>(outputs[index]);
  }
};

/// A planned op.
struct Kernel {
  virtual ~Kernel() = default;
  virtual void run(const LaunchArgs& args) = 0;
  std::int64_t workspace_bytes = 0;
};

/// A kernel that is one callable.
template <class Call>
struct CallKernel final : Kernel {
  explicit CallKernel(Call of) : call(std::move(of)) {}
  void run(const LaunchArgs& args) override { call(args); }
  Call call;
};

template <class Call>
std::unique_ptr<Kernel> make_kernel(std::int64_t workspace_bytes, Call call) {
  auto kernel = std::make_unique<CallKernel<Call>>(std::move(call));
  kernel->workspace_bytes = workspace_bytes;
  return kernel;
}

/// One way to run an op. `packed` inputs are frozen weights that the kernel reads as `pack` lays
/// them out.
struct Candidate {
  std::string_view name;
  std::string_view (*refuses)(const OpView& op,
                              const Device& device);  ///< the reason; empty = accepts
  std::string (*numerics)(const OpView& op, const Device& device);
  std::unique_ptr<Kernel> (*plan)(const OpView& op, const Device& device);
  std::vector<std::size_t> packed = {};
};

/// The candidates of a family, best first.
std::vector<Candidate> candidates(const ir::Op& op);

/// For families whose bits follow from the tier alone.
std::string tier_numerics(const OpView& op, const Device& device);
std::string_view never_refuses(const OpView& op, const Device& device);

}  // namespace parhelion::exec::cpu
