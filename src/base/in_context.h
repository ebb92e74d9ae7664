#pragma once

#include "base/error.h"

#include <string_view>
#include <utility>

namespace parhelion {

/// What `act` gives. Whatever error ends it begins with `context`, such as the key of a job file
/// whose value it works on, and keeps its kind.
template <class Act>
decltype(auto) in_context(std::string_view context, Act&& act) {
  try {
    return std::forward<Act>(act)();
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", context, error.what());
  }
}

}  // namespace parhelion
