#pragma once

#include "text/vocabulary.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// The ids of words seen lately. A word may push out another; when the arenas are full all go.
class WordCache {
 public:
  /// Sized for a text of `text_bytes`, within limits.
  explicit WordCache(std::size_t text_bytes);

  /// The ids of `word`, or nothing. Valid until the next `put`.
  std::optional<std::span<const TokenId>> find(std::string_view word) const;
  /// Stores the ids of a word; long ones are not kept.
  void put(std::string_view word, std::span<const TokenId> ids);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t word_at = 0;
    std::uint32_t ids_at = 0;
    std::uint16_t word_bytes = 0;  // 0 = free
    std::uint16_t id_count = 0;
  };

  std::vector<Entry> entries_;
  std::string words_;
  std::vector<TokenId> ids_;
};

}  // namespace parhelion::text
