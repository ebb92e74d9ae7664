#pragma once

#include "base/error.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion {

/// What is wrong with an input: gathered, so that one error tells it all.
class Problems {
 public:
  /// Adds a message unless `condition` holds; gives `condition` back.
  template <class... Args>
  bool expect(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition) messages_.push_back(fmt::format(format, std::forward<Args>(args)...));
    return condition;
  }

  /// Raises what was gathered, one line a message, each behind `where`; nothing if there is none.
  ///
  /// Errors: invalid.
  void raise(std::string_view where) const;

 private:
  std::vector<std::string> messages_;
};

}  // namespace parhelion
