#pragma once

#include <string>
#include <string_view>

namespace parhelion::app {

/// Appends `text`, which is valid UTF-8, as a string of JSON.
void append_json(std::string_view text, std::string& out);

/// `text` as a string of JSON.
std::string json_string(std::string_view text);

}  // namespace parhelion::app
