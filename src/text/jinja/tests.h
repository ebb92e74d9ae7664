#pragma once

#include "text/jinja/value.h"

#include <string_view>

namespace parhelion::text::jinja {

class Renderer;

bool is_known_test(std::string_view name);

/// Whether `value` passes a known test.
bool passes_test(Renderer& renderer, std::string_view name, const Value& value,
                 const Values& arguments);

}  // namespace parhelion::text::jinja
