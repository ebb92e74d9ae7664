#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace parhelion {

/// 128 bits that tell contents apart by accident, not against forgery.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};

/// The XXH3 hash of `bytes` with seed 0: about as fast as memory is read.
///
/// Threads: any.
/// Source:  https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
Hash128 hash128(std::span<const std::byte> bytes);

/// 32 hexadecimal digits in lower case, as the program `xxh128sum` prints them.
std::string hex(const Hash128& hash);

}  // namespace parhelion
