#pragma once

#include "base/error.h"

#include <string_view>
#include <utility>

namespace parhelion {

/// What `act` gives. An error because something ran out ends with `advice`, which says what asks
/// for less; others pass as they are.
template <class Act>
decltype(auto) with_advice(std::string_view advice, Act&& act) {
  try {
    return std::forward<Act>(act)();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::exhausted) throw;
    fail(ErrorKind::exhausted, "{}; {}", error.what(), advice);
  }
}

}  // namespace parhelion
