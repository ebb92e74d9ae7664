#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parhelion::exec::cpu {

/// Zeroed memory, page-aligned, in large pages where the system gives them.
class Memory {
 public:
  Memory() = default;
  /// Errors: exhausted if the system has not that much.
  explicit Memory(std::int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// A range of addresses that grows in place, so that bytes handed out never move.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Makes the first `bytes` usable. Errors: exhausted if the system refuses them.
  void reserve(std::int64_t bytes);
  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace parhelion::exec::cpu
