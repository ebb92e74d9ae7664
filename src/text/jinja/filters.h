#pragma once

#include "text/jinja/value.h"

#include <string_view>

namespace parhelion::text::jinja {

class Renderer;
class Arguments;

/// A filter by its name.
struct Filter {
  std::string_view name;
  Value (*apply)(Renderer& renderer, const Value& input, const Arguments& arguments) = nullptr;
};

/// The filter of this name, or null.
const Filter* find_filter(std::string_view name);

}  // namespace parhelion::text::jinja
