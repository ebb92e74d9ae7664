#pragma once

#include "base/json.h"

#include <optional>
#include <string_view>

namespace parhelion {

/// Parses one TOML text (v1.0) into an object whose keys are in the order of the text. Tables are
/// objects, arrays of tables are arrays; `nan` and `inf` are doubles.
///
/// Errors: invalid if it is no TOML, has an integer outside of 64 bits or a date or time, for which
///         there is no value; the message begins with `where:line:column`.
Json parse_toml(std::string_view text, std::string_view where);

/// The one value that `text` is, as it could stand behind `key =`, or none if it is no value or a
/// date or time.
///
/// Errors: invalid if a date or time is inside of a list or table.
std::optional<Json> parse_toml_value(std::string_view text);

}  // namespace parhelion
