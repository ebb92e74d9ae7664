#include "text/jinja/filters.h"
#include "text/jinja/python_format.h"
#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>

namespace parhelion::text::jinja {

Value made_text(Renderer& renderer, std::string text, const Value& origin) {
  renderer.charge(text.size());
  if (origin.get<Markup>() == nullptr) return text;
  return Markup{std::make_shared<const std::string>(std::move(text))};
}

namespace {

/// How `tojson` writes a level of indentation.
std::optional<std::string> read_indent(const Value& indent) {
  if (indent.text() != nullptr) return *indent.text();
  const auto* width = indent.get<std::int64_t>();
  if (width == nullptr) return std::nullopt;
  return std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(*width, 0, 64)), ' ');
}

Value tojson_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  JsonStyle style{.ascii_only = is_true(arguments.get(0, "ensure_ascii", false)),
                  .sorted_keys = is_true(arguments.get(3, "sort_keys", false)),
                  .indent = read_indent(arguments.get(1, "indent", None{}))};
  const Value separators = arguments.get(2, "separators", None{});
  if (style.indent) style.item_separator = ",";
  if (const Values* pair = separators.items()) {
    if (pair->size() != 2) renderer.fail_here("tojson: separators are not two");
    style.item_separator = renderer.text_of((*pair)[0]);
    style.key_separator = renderer.text_of((*pair)[1]);
  }
  renderer.charge_walk(input);
  if (const auto type = find_type_without_json(input)) {
    renderer.fail_here(fmt::format("Object of type {} is not JSON serializable", *type));
  }
  return made_text(renderer, to_json(input, style), {});
}

Value trim_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const std::string text = renderer.text_of(input);
  const Value characters = arguments.get(0, "chars", None{});
  if (characters.text() == nullptr) {
    return made_text(renderer, std::string(strip_both(text)), input);
  }
  const std::string_view left = strip_left_of(text, *characters.text());
  return made_text(renderer, std::string(strip_right_of(left, *characters.text())), input);
}

Value lower_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_lower(renderer.text_of(input)), input);
}
Value upper_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_upper(renderer.text_of(input)), input);
}
Value capitalize_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_capitalized(renderer.text_of(input)), input);
}

/// A letter behind white space, a hyphen or an opening bracket is large, all others are small.
Value title_filter(Renderer& renderer, const Value& input, const Arguments&) {
  std::string out;
  bool is_first = true;
  const std::string text = renderer.text_of(input);
  for (const std::string_view character : split_characters(text)) {
    out += is_first ? to_upper(character) : to_lower(character);
    is_first = strip_both(character).empty() ||
               std::string_view("-({[<").find(character) != std::string_view::npos;
  }
  return made_text(renderer, std::move(out), {});
}

Value replace_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value count = arguments.get(2, "count", None{});
  const auto* limit = count.get<std::int64_t>();
  const std::string from = renderer.text_of(arguments.get(0, "old", ""));
  const std::string to = renderer.text_of(arguments.get(1, "new", ""));
  return made_text(renderer,
                   replace_each(renderer.text_of(input), from, to, limit == nullptr ? -1 : *limit),
                   {});
}

Value string_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, renderer.text_of(input), input);
}

Value safe_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return Markup{std::make_shared<const std::string>(renderer.text_of(input))};
}

Value escape_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (input.get<Markup>() != nullptr) return input;
  std::string text = escape_html(renderer.text_of(input));
  renderer.charge(text.size());
  return Markup{std::make_shared<const std::string>(std::move(text))};
}

Value forceescape_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return escape_filter(renderer, renderer.text_of(input), arguments);
}

Value indent_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (input.text() == nullptr) renderer.fail_here("indent needs a string");
  const Value width = arguments.get(0, "width", std::int64_t{4});
  const auto* columns = width.get<std::int64_t>();
  const std::string indention =
      columns != nullptr
          ? std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(*columns, 0, 1024)), ' ')
          : renderer.text_of(width);
  const bool indents_blank = is_true(arguments.get(2, "blank", false));
  std::string out = is_true(arguments.get(1, "first", false)) ? indention : "";
  bool is_first = true;
  for (const std::string& line : split_lines(*input.text() + "\n")) {
    if (!is_first) out += '\n';
    if (!is_first && (indents_blank || !line.empty())) out += indention;
    out += line;
    renderer.charge(line.size() + indention.size());
    is_first = false;
  }
  return made_text(renderer, std::move(out), input);
}

Value center_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value width = arguments.get(0, "width", std::int64_t{80});
  const auto* columns = width.get<std::int64_t>();
  if (columns == nullptr) renderer.fail_here("center needs an integer");
  renderer.charge(static_cast<std::size_t>(std::max<std::int64_t>(*columns, 0)));
  return made_text(renderer, center_text(renderer.text_of(input), *columns), input);
}

Value format_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (input.get<Markup>() != nullptr) renderer.fail_unsupported("format of marked text");
  if (arguments.named.empty()) {
    return format_percent(renderer, renderer.text_of(input), make_tuple(arguments.positional));
  }
  if (!arguments.positional.empty()) {
    renderer.fail_here("can't handle positional and keyword arguments at the same time");
  }
  DictData names;
  for (const auto& [name, value] : arguments.named) names.set(Value(name), value);
  return format_percent(renderer, renderer.text_of(input), make_dict(std::move(names)));
}

constexpr Filter kTextFilters[] = {
    {"tojson", tojson_filter},   {"trim", trim_filter},     {"lower", lower_filter},
    {"upper", upper_filter},     {"title", title_filter},   {"capitalize", capitalize_filter},
    {"replace", replace_filter}, {"string", string_filter}, {"safe", safe_filter},
    {"escape", escape_filter},   {"e", escape_filter},      {"forceescape", forceescape_filter},
    {"indent", indent_filter},   {"center", center_filter}, {"format", format_filter},
};

}  // namespace

std::span<const Filter> text_filters() { return kTextFilters; }

}  // namespace parhelion::text::jinja
