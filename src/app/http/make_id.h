#pragma once

#include <string>
#include <string_view>

namespace parhelion::app {

/// A fresh id such as `call_00c5...`: the prefix and 24 hexadecimal digits.
std::string make_id(std::string_view prefix);

}  // namespace parhelion::app
