#pragma once

#include "text/regex.h"

#include <string_view>

namespace parhelion::train {

/// A regular expression over whole names of parameters or modules.
class NamePattern {
 public:
  /// `where` names it in errors.
  ///
  /// Errors: invalid if it is no regular expression.
  NamePattern(std::string_view pattern, std::string_view where);

  bool matches(std::string_view name) const;

 private:
  text::Regex regex_;
};

}  // namespace parhelion::train
