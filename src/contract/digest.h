#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// BLAKE2b with 32 bytes of output. Source: RFC 7693.
using Digest = std::array<std::uint8_t, 32>;

Digest digest_of(std::span<const std::byte> bytes);

/// The digest of a section: of its kind, length and leaf size, then of its bytes or the digests of
/// its leaves.
Digest section_digest(std::uint32_t kind, std::int64_t bytes, std::int64_t leaf_bytes,
                      std::span<const std::byte> content);

/// Digests of bytes that arrive in pieces of any size, one each `leaf_bytes` of them.
class LeafDigests {
 public:
  explicit LeafDigests(std::int64_t leaf_bytes) : leaf_bytes_(leaf_bytes) {}
  void append(std::span<const std::byte> bytes);
  /// The digests of all leaves one after the other; the last one may be shorter.
  std::string finish();

 private:
  void flush();

  std::int64_t leaf_bytes_;
  std::vector<std::byte> pending_;
  std::string digests_;
};

/// Which leaves of a section have not the digest that is expected, looked at on all processors.
std::vector<std::int64_t> broken_leaves(std::span<const std::byte> content, std::int64_t leaf_bytes,
                                        std::span<const std::byte> expected);

}  // namespace parhelion::contract
