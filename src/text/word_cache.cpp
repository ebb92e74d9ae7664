#include "text/word_cache.h"

#include "text/hash.h"

#include <algorithm>
#include <bit>

namespace parhelion::text {
namespace {

constexpr std::size_t kMaxWordBytes = 128;
constexpr std::size_t kBytesPerEntry = 32;

}  // namespace

WordCache::WordCache(std::size_t text_bytes)
    : entries_(std::bit_ceil(std::clamp<std::size_t>(text_bytes / 16, 16, 65536))) {}

std::optional<std::span<const TokenId>> WordCache::find(std::string_view word) const {
  const std::uint64_t hash = hash_bytes(word);
  const Entry& entry = entries_[hash & (entries_.size() - 1)];
  const bool is_same = entry.hash == hash && entry.word_bytes == word.size() &&
                       word == std::string_view(words_).substr(entry.word_at, entry.word_bytes);
  if (!is_same || word.empty()) return std::nullopt;
  return std::span(ids_).subspan(entry.ids_at, entry.id_count);
}

void WordCache::put(std::string_view word, std::span<const TokenId> ids) {
  if (word.empty() || word.size() > kMaxWordBytes) return;
  if (words_.size() + word.size() > entries_.size() * kBytesPerEntry) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    words_.clear();
    ids_.clear();
  }
  const std::uint64_t hash = hash_bytes(word);
  entries_[hash & (entries_.size() - 1)] = {.hash = hash,
                                            .word_at = static_cast<std::uint32_t>(words_.size()),
                                            .ids_at = static_cast<std::uint32_t>(ids_.size()),
                                            .word_bytes = static_cast<std::uint16_t>(word.size()),
                                            .id_count = static_cast<std::uint16_t>(ids.size())};
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace parhelion::text
