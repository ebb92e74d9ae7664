#include "exec/cuda/host_block.h"

#include "base/error.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>
#include <vector>

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr std::byte kPoison{0xff};

}  // namespace

HostBlock::HostBlock(const ir::Program& instance, ir::Role role, MemoryChecks checks)
    : checks_(checks), copied_(make_event()) {
  const std::int64_t guard_bytes = checks == MemoryChecks::on ? kGuardBytes : 0;
  bytes_ = guard_bytes;
  for (const ir::Buffer& buffer : instance.buffers) {
    if (buffer.role != role) continue;
    const std::int64_t bytes = ir::byte_count(buffer.type);
    parts_.emplace(buffer.name, Part{.offset = bytes_, .bytes = bytes});
    bytes_ = aligned(bytes_ + bytes + guard_bytes);
  }
  host_ = PinnedMemory(bytes_);
  // Never without an address, which tells a buffer of no bytes from an absent one.
  device_ = DeviceMemory(std::max<std::int64_t>(bytes_, 1));
  check(cudaMemset(device_.data(), 0, static_cast<std::size_t>(bytes_)), "cudaMemset");
}

std::byte* HostBlock::device(std::string_view name) const {
  const auto at = parts_.find(name);
  return at == parts_.end() ? nullptr : device_.data() + at->second.offset;
}

std::span<std::byte> HostBlock::host(std::string_view name) {
  const auto at = parts_.find(name);
  if (at == parts_.end()) return {};
  wait();
  return {host_.data() + at->second.offset, static_cast<std::size_t>(at->second.bytes)};
}

void HostBlock::copy_to_device(cudaStream_t stream) {
  if (bytes_ == 0) return;
  check(cudaMemcpyAsync(device_.data(), host_.data(), static_cast<std::size_t>(bytes_),
                        cudaMemcpyHostToDevice, stream),
        "copy of inputs");
  mark(stream);
}

void HostBlock::copy_to_host(cudaStream_t stream) {
  if (bytes_ > 0) {
    check(cudaMemcpyAsync(host_.data(), device_.data(), static_cast<std::size_t>(bytes_),
                          cudaMemcpyDeviceToHost, stream),
          "copy of outputs");
  }
  mark(stream);
}

void HostBlock::poison(cudaStream_t stream) {
  if (checks_ == MemoryChecks::off) return;
  check(cudaMemsetAsync(device_.data(), std::to_integer<int>(kPoison),
                        static_cast<std::size_t>(bytes_), stream),
        "poison");
  is_poisoned_ = true;
}

void HostBlock::check_guards() const {
  const std::byte* host = host_.data();
  std::vector<bool> is_guard(static_cast<std::size_t>(bytes_), true);
  for (const auto& [name, part] : parts_) {
    for (std::int64_t i = 0; i < part.bytes; ++i)
      is_guard[static_cast<std::size_t>(part.offset + i)] = false;
  }
  for (std::int64_t i = 0; i < bytes_; ++i) {
    ensure(!is_guard[static_cast<std::size_t>(i)] || host[i] == kPoison, ErrorKind::bug,
           "outputs: byte {} of {} is outside of every output and was written", i, bytes_);
  }
}

void HostBlock::mark(cudaStream_t stream) {
  check(cudaEventRecord(copied_.get(), stream), "cudaEventRecord");
  is_pending_ = true;
}

void HostBlock::wait() {
  if (!is_pending_) return;
  check(cudaEventSynchronize(copied_.get()), "run");
  is_pending_ = false;
  if (checks_ == MemoryChecks::on && is_poisoned_) check_guards();
}

}  // namespace parhelion::exec::cuda
