#include "support/allocation_count.h"

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<std::int64_t> process_allocations{0};
thread_local std::int64_t thread_allocations = 0;

void count_allocation() {
  ++process_allocations;
  ++thread_allocations;
}

}  // namespace

// Every allocation of this process is counted on its way to the C library. A sanitizer has
// functions of its own in that place: there the C++ operators alone are counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void* operator new(std::size_t size) {
  count_allocation();
  if (void* data = std::malloc(size)) return data;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  count_allocation();
  return std::malloc(size);
}
// Inlined, they would show GCC 12 a free of what it takes for another operator new.
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

#else

extern "C" {

// Names of the C library. NOLINTBEGIN(bugprone-reserved-identifier,readability-*)
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* data, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-*)

void* malloc(std::size_t size) {
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* data, std::size_t size) {
  count_allocation();
  return __libc_realloc(data, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** data, std::size_t alignment, std::size_t size) {
  *data = memalign(alignment, size);
  return *data == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  count_allocation();
  const long mapped = ::syscall(SYS_mmap, address, size, protection, flags, file, offset);
  return std::bit_cast<void*>(mapped);
}
}

#endif

namespace parhelion::test {

std::int64_t allocation_count() { return process_allocations; }
std::int64_t thread_allocation_count() { return thread_allocations; }

}  // namespace parhelion::test
