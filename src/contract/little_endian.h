#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace parhelion::contract {

inline void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
}

inline void put_i64(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  put_u32(out, static_cast<std::uint32_t>(bits));
  put_u32(out, static_cast<std::uint32_t>(bits >> 32));
}

inline std::uint32_t get_u32(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

inline std::int64_t get_i64(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::int64_t>(std::uint64_t{get_u32(bytes, at + 4)} << 32 |
                                   get_u32(bytes, at));
}

}  // namespace parhelion::contract
