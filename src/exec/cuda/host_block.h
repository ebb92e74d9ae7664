#pragma once

#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/handles.h"
#include "ir/program.h"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace parhelion::exec::cuda {

/// Buffers that a plan's host side writes, or reads, beside each other on the host and on the
/// device, so that one copy moves them all.
class HostBlock {
 public:
  /// The buffers of `instance` in a role.
  HostBlock(const ir::Program& instance, ir::Role role, MemoryChecks checks);

  /// Device address of a buffer; null if it is not in this block.
  std::byte* device(std::string_view name) const;
  /// Host bytes of a buffer, once no copy uses them; empty address if it is not in this block.
  std::span<std::byte> host(std::string_view name);

  /// Enqueue the copy of all buffers; later calls of `host` wait for it.
  void copy_to_device(cudaStream_t stream);
  void copy_to_host(cudaStream_t stream);
  /// Fills the device's bytes with ones, NaN in every kind of number, if memory is checked.
  void poison(cudaStream_t stream);
  /// Errors: bug if something wrote between the buffers and memory is checked.
  void wait();

 private:
  struct Part {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  void mark(cudaStream_t stream);
  void check_guards() const;

  MemoryChecks checks_;
  std::map<std::string, Part, std::less<>> parts_;
  std::int64_t bytes_ = 0;
  PinnedMemory host_;
  DeviceMemory device_;
  Event copied_;
  bool is_pending_ = false;
  bool is_poisoned_ = false;
};

}  // namespace parhelion::exec::cuda
