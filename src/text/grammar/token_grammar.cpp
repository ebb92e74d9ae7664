#include "text/grammar/token_grammar.h"

#include "text/grammar/automaton.h"
#include "text/grammar/state_groups.h"
#include "text/grammar/state_mask.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {

std::int64_t StateMask::memory_bytes() const {
  return static_cast<std::int64_t>(sizeof(StateMask) + words.capacity() * sizeof(std::uint32_t) +
                                   tokens.capacity() * sizeof(TokenId) +
                                   in_context.capacity() * sizeof(ContextPlace));
}

TokenGrammar::TokenGrammar(Grammar grammar, std::shared_ptr<const TokenTable> table,
                           std::int64_t mask_bytes)
    : grammar_(std::move(grammar)),
      table_(std::move(table)),
      in_any_context_(make_contexts(grammar_.automaton())),
      groups_(group_states(grammar_.automaton(), table_->max_token_bytes())),
      mask_bytes_limit_(mask_bytes) {
  const std::int32_t last_group = *std::max_element(groups_.begin(), groups_.end());
  masks_.resize(static_cast<std::size_t>(last_group) + 1);
}

std::shared_ptr<const StateMask> TokenGrammar::mask_of(StateIndex state) const {
  const auto group = static_cast<std::size_t>(groups_[static_cast<std::size_t>(state)]);
  {
    const std::lock_guard lock(mutex_);
    if (masks_[group] != nullptr) return masks_[group];
  }
  auto mask = std::make_shared<const StateMask>(
      make_state_mask(grammar_.automaton(), *table_, in_any_context_, state));
  const std::lock_guard lock(mutex_);
  if (masks_[group] != nullptr) return masks_[group];
  if (mask_bytes_ + mask->memory_bytes() <= mask_bytes_limit_) {
    mask_bytes_ += mask->memory_bytes();
    masks_[group] = mask;
  }
  return mask;
}

void TokenGrammar::prepare(std::chrono::milliseconds budget) const {
  const auto end = std::chrono::steady_clock::now() + budget;
  for (std::size_t state = 0; state < groups_.size(); ++state) {
    if (std::chrono::steady_clock::now() >= end) return;
    const std::shared_ptr<const StateMask> mask = mask_of(static_cast<StateIndex>(state));
    if (mask.use_count() == 1) return;  // it is not kept: the memory is full
  }
}

std::int64_t TokenGrammar::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return grammar_.memory_bytes() + mask_bytes_;
}

}  // namespace parhelion::text
