#include "contract/digest.h"

#include "base/parallel.h"
#include "contract/little_endian.h"
#include "contract/sodium_start.h"

#include <algorithm>

namespace parhelion::contract {
namespace {

const unsigned char* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Digest digest_of(std::span<const std::byte> bytes) {
  start_sodium();
  Digest digest = {};
  crypto_generichash(digest.data(), digest.size(), octets(bytes), bytes.size(), nullptr, 0);
  return digest;
}

Digest section_digest(std::uint32_t kind, std::int64_t bytes, std::int64_t leaf_bytes,
                      std::span<const std::byte> content) {
  start_sodium();
  std::string prefix;
  put_u32(prefix, kind);
  put_u32(prefix, 0);
  put_i64(prefix, bytes);
  put_i64(prefix, leaf_bytes);
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, sizeof(Digest));
  crypto_generichash_update(&state, octets(std::as_bytes(std::span(prefix))), prefix.size());
  crypto_generichash_update(&state, octets(content), content.size());
  Digest digest = {};
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

void LeafDigests::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t room = static_cast<std::size_t>(leaf_bytes_) - pending_.size();
    const auto part = bytes.first(std::min(room, bytes.size()));
    pending_.insert(pending_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (std::ssize(pending_) == leaf_bytes_) flush();
  }
}

void LeafDigests::flush() {
  const Digest digest = digest_of(pending_);
  digests_.append(digest.begin(), digest.end());
  pending_.clear();
}

std::string LeafDigests::finish() {
  if (!pending_.empty()) flush();
  return std::move(digests_);
}

std::vector<std::int64_t> broken_leaves(std::span<const std::byte> content, std::int64_t leaf_bytes,
                                        std::span<const std::byte> expected) {
  const std::int64_t size = std::ssize(content);
  const std::int64_t count = (size + leaf_bytes - 1) / leaf_bytes;
  std::vector<std::uint8_t> broken(static_cast<std::size_t>(count));
  for_ranges(size, [&](std::int64_t first, std::int64_t last) {
    // A leaf belongs to the range that its first byte is in.
    for (std::int64_t leaf = (first + leaf_bytes - 1) / leaf_bytes; leaf * leaf_bytes < last;
         ++leaf) {
      const std::int64_t begin = leaf * leaf_bytes;
      const Digest digest =
          digest_of(content.subspan(static_cast<std::size_t>(begin),
                                    static_cast<std::size_t>(std::min(leaf_bytes, size - begin))));
      const auto at = static_cast<std::size_t>(leaf);
      broken[at] = !std::ranges::equal(std::as_bytes(std::span(digest)),
                                       expected.subspan(at * digest.size(), digest.size()));
    }
  });
  std::vector<std::int64_t> result;
  for (std::int64_t leaf = 0; leaf < count; ++leaf)
    if (broken[static_cast<std::size_t>(leaf)] != 0) result.push_back(leaf);
  return result;
}

}  // namespace parhelion::contract
