#pragma once

#include <cstdint>

namespace parhelion::test {

/// How often this process has asked for memory. A program that links allocation_count.cpp counts
/// what it asks the C library for; under a sanitizer, what it asks the C++ operators for.
std::int64_t allocation_count();

/// As allocation_count, of the calling thread alone.
std::int64_t thread_allocation_count();

}  // namespace parhelion::test
