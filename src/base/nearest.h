#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace parhelion {

/// The fewest insertions, removals and replacements of bytes that turn `a` into `b`.
std::int64_t edit_distance(std::string_view a, std::string_view b);

/// The name that was probably meant by `text`: the first with the least edit distance, or an empty
/// one if more than a third of the longer text would have to change (but one byte always may).
std::string_view nearest(std::string_view text, std::span<const std::string_view> names);

}  // namespace parhelion
