#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace parhelion::train {

/// The bytes that a text such as `8GiB`, `1.5 GiB` or `1048576` stands for: a number above 0 and a
/// unit among B, KiB, MiB, GiB and TiB. None if it is something else.
std::optional<std::int64_t> parse_byte_size(std::string_view text);

}  // namespace parhelion::train
