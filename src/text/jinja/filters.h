#pragma once

#include "text/jinja/function.h"
#include "text/jinja/value.h"

#include <span>
#include <string>
#include <string_view>

namespace parhelion::text::jinja {

class Renderer;

/// A filter by its name.
struct Filter {
  std::string_view name;
  Value (*apply)(Renderer& renderer, const Value& input, const Arguments& arguments) = nullptr;
};

/// The filter of this name, or null.
const Filter* find_filter(std::string_view name);

/// Whether Jinja itself has a filter of this name, which this engine may lack.
bool is_filter_of_jinja(std::string_view name);

/// Filters that give text, and filters over sequences.
std::span<const Filter> text_filters();
std::span<const Filter> sequence_filters();

/// A string that a filter made, as counted work; marked as `origin` is.
Value made_text(Renderer& renderer, std::string text, const Value& origin);

}  // namespace parhelion::text::jinja
