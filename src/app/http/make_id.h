#pragma once

#include "app/http/message.h"

#include <string>
#include <string_view>

namespace parhelion::app {

/// A fresh id such as `call_00c5...`: the prefix and 24 hexadecimal digits.
std::string make_id(std::string_view prefix);

/// The id of a request: what its client calls it, if that is a plain token, else a new one.
std::string request_id_of(const HttpRequest& head);

}  // namespace parhelion::app
