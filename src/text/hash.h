#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace parhelion::text {

/// Spreads the bits of `value`.
inline std::uint64_t mix_bits(std::uint64_t value) {
  value *= 0x9E3779B97F4A7C15U;
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93U;
  return value ^ value >> 32;
}

/// A fast hash of short texts, the same on every run.
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t hash = seed ^ bytes.size();
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof(std::uint64_t);
       left -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    hash = mix_bits(hash ^ word);
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i) {
    word = word << 8 | static_cast<unsigned char>(at[i]);
  }
  return mix_bits(hash ^ word);
}

}  // namespace parhelion::text
