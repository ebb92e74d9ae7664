#pragma once

#include <cstdint>

namespace parhelion::text {

/// What compiling a grammar from an untrusted text may take. Passing a limit is an error of kind
/// exhausted that names it.
struct GrammarLimits {
  std::int64_t source_bytes =
      1 << 20;               ///< the text of a pattern, grammar, schema or of all choices
  std::int64_t depth = 128;  ///< nesting of groups or of schemas
  std::int64_t rules = 10'000;
  std::int64_t expressions = 1'000'000;  ///< parts of all rules before they are automata
  std::int64_t states = 250'000;  ///< of all automata, before they are made deterministic and after
  std::int64_t comparisons = 2'000'000;  ///< of parts of a schema's alternatives
  std::int64_t work = 20'000'000;        ///< states looked at while automata are made deterministic
};

}  // namespace parhelion::text
