#pragma once

#include "text/grammar/limits.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace parhelion::text {

struct Automaton;

/// What a constrained text may be. A handle to immutable data, cheap to copy.
///
/// Threads: any number may use one grammar at a time.
class Grammar {
 public:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}

  const Automaton& automaton() const { return *automaton_; }
  /// The number of states of its automata.
  std::int64_t state_count() const;
  /// About how much memory it takes.
  std::int64_t memory_bytes() const;

 private:
  std::shared_ptr<const Automaton> automaton_;
};

/// The texts that match the whole of a regular expression, in the syntax of docs/text/grammar.md.
///
/// Errors: invalid if it is no expression or matches nothing; unsupported, by name, for what the
///         syntax leaves out; exhausted if it passes a limit.
Grammar compile_regex(std::string_view pattern, const GrammarLimits& limits = {});

/// The texts given.
///
/// Errors: invalid if there are none or one is no UTF-8; exhausted if they pass a limit.
Grammar compile_choice(std::span<const std::string> texts, const GrammarLimits& limits = {});

/// The texts of rule `root` of a grammar in the syntax of docs/text/grammar.md.
///
/// Errors: invalid, with the line, if the text breaks the syntax, if a rule is missing, is defined
///         twice or begins with itself, or if nothing matches; exhausted if it passes a limit.
Grammar compile_grammar_text(std::string_view text, const GrammarLimits& limits = {});

}  // namespace parhelion::text
