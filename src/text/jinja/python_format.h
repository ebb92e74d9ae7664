#pragma once

#include "text/jinja/function.h"
#include "text/jinja/value.h"

#include <string>
#include <string_view>

namespace parhelion::text::jinja {

class Renderer;

/// What `format % arguments` gives: a tuple for several fields, a dict for named ones, or the one
/// value.
///
/// Errors: invalid if fields and arguments do not fit; unsupported for fields other than s, r, d,
/// i, f, x, X and %.
std::string format_percent(Renderer& renderer, std::string_view format, const Value& arguments);

/// What `format.format(...)` gives.
///
/// Errors: invalid if a field names no argument; unsupported for fields with a format or with
/// members.
std::string format_braces(Renderer& renderer, std::string_view format, const Arguments& arguments);

}  // namespace parhelion::text::jinja
