#pragma once

#include "text/grammar/token_grammar.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Where one sequence stands in its grammar. Cheap to make; a copy goes on by itself.
///
/// Threads: one at a time.
class GrammarMatcher {
 public:
  /// `stop_ids` are the tokens that end the text; they are allowed where it may end, and only
  /// there.
  GrammarMatcher(std::shared_ptr<const TokenGrammar> grammar, std::vector<TokenId> stop_ids);

  /// Goes on by one token. False, and nothing changes, if the grammar does not allow it.
  ///
  /// Errors: exhausted if the text can be read in too many ways; nothing changes.
  bool accept(TokenId token);
  /// Goes on by bytes that no token brings, such as a forced run: one step for rollback, as a
  /// token.
  bool accept_bytes(std::string_view bytes);
  /// Whether the text may end here.
  bool is_finished() const;
  /// Whether a stop token was accepted.
  bool is_stopped() const { return positions().empty(); }

  /// Sets bit `id % 32` of word `id / 32` for each token that may come next, and clears all others.
  /// No bit is set only where the vocabulary lacks a token to go on with, or behind a stop token.
  ///
  /// Errors: invalid if `bits` has no room for the vocabulary; exhausted as of accept.
  void fill_mask(std::span<std::uint32_t> bits);

  /// The bytes that must come next: as long as there is one choice, up to `limit`.
  std::string forced_bytes(std::int64_t limit = 256);

  /// Takes back the last `tokens` steps.
  ///
  /// Errors: invalid if there were fewer.
  void roll_back(std::int64_t tokens);
  /// How many tokens were accepted and not taken back.
  std::int64_t accepted_count() const { return static_cast<std::int64_t>(starts_.size()) - 1; }

 private:
  std::span<const Position> positions() const {
    return std::span(history_).subspan(starts_.back());
  }
  void push(std::span<const Position> positions);
  bool read_bytes(std::string_view bytes);
  bool is_stop(TokenId token) const;
  void allow_in_context(const Position& position, const StateMask& mask,
                        std::span<std::uint32_t> bits);
  std::size_t read_from(std::size_t at, std::string_view bytes);

  std::shared_ptr<const TokenGrammar> grammar_;
  std::vector<TokenId> stop_ids_;
  Stepper stepper_;
  std::vector<Position> history_;              // the positions after each token
  std::vector<std::size_t> starts_;            // where those of each token begin
  std::vector<std::vector<Position>> levels_;  // the positions after each byte of a token
};

}  // namespace parhelion::text
