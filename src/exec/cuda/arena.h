#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <vector>

namespace parhelion::exec::cuda {

/// A range of device addresses that grows in place, so that bytes handed out never move, and whose
/// memory may be given back for a while.
class Arena {
 public:
  /// `what` names it in errors.
  Arena(const char* what, int ordinal);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Makes the first `bytes` usable; new ones are zero.
  ///
  /// Errors: exhausted, saying how much is missing.
  void reserve(std::int64_t bytes);
  std::byte* data() const { return std::bit_cast<std::byte*>(address_); }
  std::int64_t size() const { return size_; }

  /// Gives the memory back, content lost; `map` makes the same bytes usable again.
  void unmap();
  void map();

 private:
  void add(std::int64_t bytes);
  void release() noexcept;
  void ensure_free(std::int64_t bytes) const;

  const char* what_;
  int ordinal_;
  CUdeviceptr address_ = 0;
  std::int64_t granularity_ = 0;
  std::int64_t size_ = 0;
  std::vector<CUmemGenericAllocationHandle> blocks_;
  std::vector<std::int64_t> block_bytes_;
};

}  // namespace parhelion::exec::cuda
