#pragma once

#include "text/grammar/grammar.h"
#include "text/grammar/stepper.h"
#include "text/grammar/token_table.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace parhelion::text {

/// A place of the token table whose tokens are allowed in some contexts of a state only.
struct ContextPlace {
  std::int32_t place = 0;
  std::uint16_t shared_bytes = 0;  ///< that it has in common with the place before it
};

/// Which tokens may come in a state, as far as the state alone tells.
struct StateMask {
  std::vector<std::uint32_t> words;      ///< a bit for each token that is allowed; or empty, and
  std::vector<TokenId> tokens;           ///< the tokens that are allowed, where they are few
  std::vector<ContextPlace> in_context;  ///< in the order of the table

  std::int64_t memory_bytes() const;
};

/// A grammar over the tokens of a vocabulary. What its states allow is found when it is first asked
/// for, and kept.
///
/// Threads: any number may use one at a time.
class TokenGrammar {
 public:
  /// `mask_bytes` bounds the memory of what is kept; beyond it masks are made again each time.
  TokenGrammar(Grammar grammar, std::shared_ptr<const TokenTable> table,
               std::int64_t mask_bytes = std::int64_t{64} << 20);

  const Grammar& grammar() const { return grammar_; }
  const Automaton& automaton() const { return grammar_.automaton(); }
  const TokenTable& table() const { return *table_; }
  std::shared_ptr<const StateMask> mask_of(StateIndex state) const;
  /// Makes masks ahead until all are kept, memory ends or the time is over: on the thread that
  /// compiled the grammar, so that no sequence waits for them.
  void prepare(std::chrono::milliseconds budget) const;
  /// About how much memory the automata and what is kept take.
  std::int64_t memory_bytes() const;

 private:
  Grammar grammar_;
  std::shared_ptr<const TokenTable> table_;
  Stepper in_any_context_;            // with a node for each rule that stands for all its callers
  std::vector<std::int32_t> groups_;  // of states with equal masks
  std::int64_t mask_bytes_limit_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const StateMask>> masks_;  // by group, guarded by mutex_
  mutable std::int64_t mask_bytes_ = 0;                          // guarded by mutex_
};

}  // namespace parhelion::text
