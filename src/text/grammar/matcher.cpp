#include "text/grammar/matcher.h"

#include "base/error.h"
#include "text/grammar/automaton.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace parhelion::text {
namespace {

void set_bit(std::span<std::uint32_t> bits, TokenId token) {
  bits[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
}

/// The byte that all positions go on with, if it is one.
std::optional<std::uint8_t> only_byte(const Automaton& automaton,
                                      std::span<const Position> positions) {
  std::optional<std::uint8_t> byte;
  for (const Position& position : positions) {
    if (position.state == automaton.final_state) return std::nullopt;
    for (const ByteEdge& edge : automaton.bytes_from(automaton.state(position.state))) {
      if (edge.first != edge.last || byte.value_or(edge.first) != edge.first) return std::nullopt;
      byte = edge.first;
    }
  }
  return byte;
}

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const TokenGrammar> grammar,
                               std::vector<TokenId> stop_ids)
    : grammar_(std::move(grammar)),
      stop_ids_(std::move(stop_ids)),
      stepper_(grammar_->automaton()),
      levels_(static_cast<std::size_t>(grammar_->table().max_token_bytes()) + 1) {
  std::vector<Position> start;
  stepper_.start(start);
  push(start);
}

void GrammarMatcher::push(std::span<const Position> positions) {
  starts_.push_back(history_.size());
  history_.insert(history_.end(), positions.begin(), positions.end());
}

bool GrammarMatcher::is_stop(TokenId token) const {
  return std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end();
}

bool GrammarMatcher::accept(TokenId token) {
  if (!is_stop(token)) return read_bytes(grammar_->table().bytes(token));
  if (!is_finished()) return false;
  push({});
  return true;
}

bool GrammarMatcher::accept_bytes(std::string_view bytes) { return read_bytes(bytes); }

bool GrammarMatcher::read_bytes(std::string_view bytes) {
  if (bytes.empty() || is_stopped()) return false;
  std::vector<Position>& from = levels_[0];
  std::vector<Position>& to = levels_[1];
  from.assign(positions().begin(), positions().end());
  for (const char byte : bytes) {
    stepper_.step(from, static_cast<std::uint8_t>(byte), to);
    if (to.empty()) return false;
    std::swap(from, to);
  }
  push(from);
  return true;
}

bool GrammarMatcher::is_finished() const {
  const StateIndex behind = grammar_->automaton().final_state;
  return std::any_of(positions().begin(), positions().end(),
                     [behind](const Position& position) { return position.state == behind; });
}

void GrammarMatcher::fill_mask(std::span<std::uint32_t> bits) {
  const std::int64_t bit_count = static_cast<std::int64_t>(bits.size()) * 32;
  ensure(bit_count >= grammar_->table().token_id_end(), ErrorKind::invalid,
         "token mask: {} bits, expected at least {}", bit_count, grammar_->table().token_id_end());
  std::fill(bits.begin(), bits.end(), 0);
  for (const Position& position : positions()) {
    if (position.state == grammar_->automaton().final_state) continue;
    const std::shared_ptr<const StateMask> mask = grammar_->mask_of(position.state);
    for (std::size_t i = 0; i < mask->words.size(); ++i) bits[i] |= mask->words[i];
    for (const TokenId token : mask->tokens) set_bit(bits, token);
    allow_in_context(position, *mask, bits);
  }
  for (const TokenId stop : stop_ids_) {
    if (stop < 0 || stop >= bit_count) continue;
    bits[static_cast<std::size_t>(stop) / 32] &= ~(1U << (stop % 32));
    if (is_finished()) set_bit(bits, stop);
  }
}

void GrammarMatcher::allow_in_context(const Position& position, const StateMask& mask,
                                      std::span<std::uint32_t> bits) {
  levels_[0].assign(1, position);
  std::size_t known = 0;  // so many bytes of the last token could be read
  for (const ContextPlace& in_context : mask.in_context) {
    const TokenPlace& place =
        grammar_->table().places()[static_cast<std::size_t>(in_context.place)];
    const std::span<const TokenId> tokens = grammar_->table().tokens_at(place);
    const std::string_view bytes = grammar_->table().bytes(tokens.front());
    // What the last token could not read, this one cannot either.
    if (known < in_context.shared_bytes) continue;
    known = read_from(in_context.shared_bytes, bytes);
    if (known < bytes.size()) continue;
    for (const TokenId token : tokens) set_bit(bits, token);
  }
}

/// Goes on from the positions after `at` bytes; gives how many bytes of all could be read.
std::size_t GrammarMatcher::read_from(std::size_t at, std::string_view bytes) {
  for (; at < bytes.size(); ++at) {
    stepper_.step(levels_[at], static_cast<std::uint8_t>(bytes[at]), levels_[at + 1]);
    if (levels_[at + 1].empty()) return at;
  }
  return at;
}

std::string GrammarMatcher::forced_bytes(std::int64_t limit) {
  std::string bytes;
  levels_[0].assign(positions().begin(), positions().end());
  while (static_cast<std::int64_t>(bytes.size()) < limit) {
    const std::optional<std::uint8_t> byte = only_byte(grammar_->automaton(), levels_[0]);
    if (!byte) break;
    bytes += static_cast<char>(*byte);
    stepper_.step(levels_[0], *byte, levels_[1]);
    std::swap(levels_[0], levels_[1]);
  }
  return bytes;
}

void GrammarMatcher::roll_back(std::int64_t tokens) {
  ensure(tokens >= 0 && tokens <= accepted_count(), ErrorKind::invalid,
         "constrained text: {} tokens are taken back of {}", tokens, accepted_count());
  if (tokens == 0) return;
  const auto kept = static_cast<std::ptrdiff_t>(accepted_count() - tokens) + 1;
  history_.resize(starts_[static_cast<std::size_t>(kept)]);
  starts_.erase(starts_.begin() + kept, starts_.end());
}

}  // namespace parhelion::text
