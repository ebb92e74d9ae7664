#pragma once

#include "base/json.h"

#include <string_view>

namespace parhelion {

/// `tree` with the value of an assignment `a.b=c` in it. Tables that are missing are made; a number
/// in the path is the index of an item of a list. What is right of the `=` is a TOML value; if it
/// is none, and does not begin like a list, a table or a quoted string, it is a string as it
/// stands.
///
/// Errors: invalid, naming the assignment, if it has no key or no `=`, if the path leads through
///         something that is no table or to an item that a list does not have, or if the value is
///         the beginning of no TOML value.
Json override_setting(const Json& tree, std::string_view assignment);

}  // namespace parhelion
