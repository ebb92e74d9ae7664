#include "text/vocabulary.h"

#include "base/error.h"
#include "text/hash.h"
#include "text/utf8.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace parhelion::text {
namespace {

std::uint64_t token_hash(TokenSpelling spelling, std::string_view bytes) {
  return hash_bytes(bytes, static_cast<std::uint64_t>(spelling) << 63);
}

std::uint32_t token_tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(std::size_t tokens) : expected_(tokens) {
  tokens_.reserve(tokens);
  arena_.reserve(tokens * 8);
  slots_.resize(std::bit_ceil(std::max<std::size_t>(tokens * 2, 16)));
}

std::size_t Vocabulary::find_slot(TokenSpelling spelling, std::string_view bytes,
                                  std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id < 0) return at;
    if (slot.tag != token_tag(hash)) continue;
    const Token& token = tokens_[static_cast<std::size_t>(slot.id)];
    if (token.spelling == spelling && this->bytes(slot.id) == bytes) return at;
  }
}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    const TokenSpelling spelling = tokens_[static_cast<std::size_t>(slot.id)].spelling;
    const std::uint64_t hash = token_hash(spelling, bytes(slot.id));
    slots_[find_slot(spelling, bytes(slot.id), hash)] = slot;
  }
}

void Vocabulary::add(std::string_view written, std::int64_t id, std::string_view where) {
  const std::size_t invalid = find_invalid_utf8(written);
  ensure(invalid == std::string_view::npos, ErrorKind::corrupt,
         "{}: token {} has no UTF-8 at byte {}", where, id, invalid);
  const auto limit = static_cast<std::int64_t>(4 * std::max(expected_, count_) + 65536);
  ensure(id >= 0 && id < limit, ErrorKind::corrupt, "{}: token '{}' has id {}, expected 0 to {}",
         where, written, id, limit - 1);
  ensure(!contains(id), ErrorKind::corrupt, "{}: token '{}' has id {}, which another token has",
         where, written, id);
  std::string storage;
  const SpelledToken token = read_token(written, storage);
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::uint64_t hash = token_hash(token.spelling, token.bytes);
  Slot& slot = slots_[find_slot(token.spelling, token.bytes, hash)];
  ensure(slot.id < 0, ErrorKind::corrupt, "{}: token '{}' is repeated", where, written);
  ensure(arena_.size() + token.bytes.size() <= std::numeric_limits<std::uint32_t>::max(),
         ErrorKind::corrupt, "{}: tokens have more than 4 GiB", where);
  if (id >= size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
  tokens_[static_cast<std::size_t>(id)] = {.at = static_cast<std::uint32_t>(arena_.size()),
                                           .bytes = static_cast<std::uint32_t>(token.bytes.size()),
                                           .exists = true,
                                           .is_special = false,
                                           .spelling = token.spelling};
  arena_ += token.bytes;
  slot = {token_tag(hash), static_cast<TokenId>(id)};
  ++count_;
}

std::optional<TokenId> Vocabulary::find(TokenSpelling spelling, std::string_view bytes) const {
  const Slot& slot = slots_[find_slot(spelling, bytes, token_hash(spelling, bytes))];
  return slot.id < 0 ? std::nullopt : std::optional<TokenId>(slot.id);
}

std::optional<TokenId> Vocabulary::find_written(std::string_view written) const {
  if (find_invalid_utf8(written) != std::string_view::npos) return std::nullopt;
  std::string storage;
  const SpelledToken token = read_token(written, storage);
  return find(token.spelling, token.bytes);
}

bool Vocabulary::contains(std::int64_t id) const {
  return id >= 0 && id < size() && tokens_[static_cast<std::size_t>(id)].exists;
}

bool Vocabulary::is_byte_level(std::int64_t id, std::string_view bytes) const {
  return contains(id) &&
         tokens_[static_cast<std::size_t>(id)].spelling == TokenSpelling::byte_level &&
         this->bytes(static_cast<TokenId>(id)) == bytes;
}

std::string_view Vocabulary::bytes(TokenId id) const {
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  return std::string_view(arena_).substr(token.at, token.bytes);
}

}  // namespace parhelion::text
