#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace parhelion::text {

/// The regular expression of a string format of JSON Schema, or nothing if it is not known.
///
/// Source: RFC 3339 for date, time, date-time and duration; RFC 4291 for ipv6; RFC 4122 for uuid;
///         RFC 1123 for hostname; narrower forms of RFC 5321 for email and RFC 3986 for uri.
std::optional<std::string> format_pattern(std::string_view format);

}  // namespace parhelion::text
