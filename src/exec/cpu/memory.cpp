#include "exec/cpu/memory.h"

#include "base/error.h"

#include <algorithm>
#include <sys/mman.h>
#include <utility>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kArenaAddressBytes = std::int64_t{1} << 40;
constexpr std::int64_t kLargePageBytes = std::int64_t{1} << 21;

std::byte* map(std::int64_t bytes, int protection, int flags) {
  void* data = ::mmap(nullptr, static_cast<std::size_t>(bytes), protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  ensure(data != MAP_FAILED, ErrorKind::exhausted, "memory: the system refuses {} bytes", bytes);
  return static_cast<std::byte*>(data);
}

/// Nothing at all has an address too, so that an empty buffer is told from an absent one.
std::int64_t mapped_bytes(std::int64_t bytes) { return std::max<std::int64_t>(bytes, 1); }

void advise_large_pages(std::byte* data, std::int64_t bytes) {
  if (bytes >= kLargePageBytes)
    ::madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // a hint only
}

}  // namespace

Memory::Memory(std::int64_t bytes) : size_(bytes) {
  data_ = map(mapped_bytes(bytes), PROT_READ | PROT_WRITE, 0);
  advise_large_pages(data_, bytes);
}

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(mapped_bytes(size_)));
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Arena::Arena() : data_(map(kArenaAddressBytes, PROT_NONE, MAP_NORESERVE)) {}

Arena::~Arena() { ::munmap(data_, static_cast<std::size_t>(kArenaAddressBytes)); }

void Arena::reserve(std::int64_t bytes) {
  if (bytes <= size_) return;
  const std::int64_t rounded = (bytes + kLargePageBytes - 1) / kLargePageBytes * kLargePageBytes;
  const bool usable =
      rounded <= kArenaAddressBytes &&
      ::mprotect(data_, static_cast<std::size_t>(rounded), PROT_READ | PROT_WRITE) == 0;
  ensure(usable, ErrorKind::exhausted, "arena: the system refuses {} bytes", rounded);
  advise_large_pages(data_, rounded);
  size_ = rounded;
}

}  // namespace parhelion::exec::cpu
