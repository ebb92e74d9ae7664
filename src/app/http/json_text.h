#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace parhelion::app {

/// Appends `text`, which is valid UTF-8, as a string of JSON.
void append_json(std::string_view text, std::string& out);

/// `ids` as an array of JSON.
std::string json_ids(std::span<const std::int32_t> ids);

/// `text` as a string of JSON.
std::string json_string(std::string_view text);

}  // namespace parhelion::app
