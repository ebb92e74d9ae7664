#pragma once

#include "text/grammar/expression.h"

#include <string_view>

namespace parhelion::text {

/// Which texts an expression without anchors stands for.
enum class RegexSpan : std::uint8_t {
  whole,    ///< those that it matches as a whole
  anywhere  ///< those that contain a match
};

struct RegexOptions {
  Spelling spelling = Spelling::utf8;
  RegexSpan span = RegexSpan::whole;
};

/// Adds the expression of a regular expression.
///
/// Errors: as of compile_regex; they begin with the name of the book and give the offset.
ExpressionId add_regex(RuleBook& book, std::string_view pattern, const RegexOptions& options);

}  // namespace parhelion::text
