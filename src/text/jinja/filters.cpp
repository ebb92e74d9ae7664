#include "text/jinja/filters.h"

#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace parhelion::text::jinja {
namespace {

Value length_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (const std::string* text = input.text()) return count_characters(*text);
  if (const DictData* dict = input.dict()) return static_cast<std::int64_t>(dict->items.size());
  const auto* list = input.get<ListRef>();
  if (list != nullptr && (*list)->kind != ListKind::iterator) {
    return static_cast<std::int64_t>((*list)->items.size());
  }
  if (input.is_undefined()) return std::int64_t{0};
  renderer.fail_here(fmt::format("object of type '{}' has no len()", type_name(input)));
}

Value default_filter(Renderer&, const Value& input, const Arguments& arguments) {
  const bool is_missing =
      input.is_undefined() || (is_true(arguments.get(1, "boolean", false)) && !is_true(input));
  return is_missing ? arguments.get(0, "default_value", "") : input;
}

/// The number that `text` is, whole or not, or nothing.
std::optional<Value> read_number(std::string_view text) {
  std::int64_t whole = 0;
  double number = 0;
  const char* end = text.data() + text.size();
  if (text.empty()) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && stop == end) return Value(whole);
  const auto [float_stop, float_error] = std::from_chars(text.data(), end, number);
  if (float_error == std::errc() && float_stop == end) return Value(number);
  return std::nullopt;
}

Value int_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (arguments.find(1, "base")) renderer.fail_unsupported("int with a base");
  if (const auto* flag = input.get<bool>()) return std::int64_t{*flag};
  std::optional<Value> number = input;
  if (input.text() != nullptr) number = read_number(strip_both(*input.text()));
  if (number && number->get<std::int64_t>() != nullptr) return *number;
  const double* real = number ? number->get<double>() : nullptr;
  const bool fits = real != nullptr && *real > -9.2e18 && *real < 9.2e18;
  return fits ? Value(static_cast<std::int64_t>(*real))
              : arguments.get(0, "default", std::int64_t{0});
}

Value float_filter(Renderer&, const Value& input, const Arguments& arguments) {
  if (const auto* flag = input.get<bool>()) return *flag ? 1.0 : 0.0;
  std::optional<Value> number = input;
  if (input.text() != nullptr) number = read_number(strip_both(*input.text()));
  if (number && number->get<double>() != nullptr) return *number;
  const std::int64_t* whole = number ? number->get<std::int64_t>() : nullptr;
  return whole != nullptr ? Value(static_cast<double>(*whole)) : arguments.get(0, "default", 0.0);
}

Value abs_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const bool is_negative = is_less(renderer, input, std::int64_t{0});
  return apply_sign(renderer, is_negative ? UnaryOperator::negate : UnaryOperator::plus, input);
}

/// Rounds the decimal form, as Python does: a tie in decimals is rarely one in binary.
Value round_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value digits = arguments.get(0, "precision", std::int64_t{0});
  const auto* precision = digits.get<std::int64_t>();
  const std::string method = renderer.text_of(arguments.get(1, "method", "common"));
  if (precision == nullptr || *precision < 0 || *precision > 15) {
    renderer.fail_unsupported("round to this precision");
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    renderer.fail_here("method must be common, ceil or floor");
  }
  const auto* flag = input.get<bool>();
  const Value whole = flag != nullptr ? Value(std::int64_t{*flag}) : input;
  if (method == "common" && whole.get<std::int64_t>() != nullptr) return whole;
  const Value number = float_filter(renderer, input, {});
  if (input.text() != nullptr || input.is_undefined() || !std::isfinite(*number.get<double>())) {
    renderer.fail_here(fmt::format("type {} doesn't define __round__ method", type_name(input)));
  }
  if (method == "common") {
    const std::string decimal = fmt::format("{:.{}f}", *number.get<double>(), *precision);
    double rounded = 0;
    std::from_chars(decimal.data(), decimal.data() + decimal.size(), rounded);
    return rounded;
  }
  const double scale = std::pow(10.0, static_cast<double>(*precision));
  const double scaled = *number.get<double>() * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

Value attr_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const std::string name = renderer.text_of(arguments.get(0, "name", ""));
  if (input.dict() != nullptr && !has_method(input, name)) {
    return Undefined{fmt::format("'dict object' has no attribute '{}'", name)};
  }
  return get_attribute(renderer, input, name);
}

constexpr Filter kFilters[] = {
    {"length", length_filter}, {"count", length_filter}, {"default", default_filter},
    {"d", default_filter},     {"int", int_filter},      {"float", float_filter},
    {"abs", abs_filter},       {"round", round_filter},  {"attr", attr_filter},
};

constexpr std::string_view kLacking[] = {
    "filesizeformat", "groupby",   "pprint", "random",    "slice",    "striptags",
    "truncate",       "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr",
};

const Filter* find_among(std::span<const Filter> filters, std::string_view name) {
  const auto found = std::find_if(filters.begin(), filters.end(),
                                  [&](const Filter& filter) { return filter.name == name; });
  return found == filters.end() ? nullptr : &*found;
}

}  // namespace

const Filter* find_filter(std::string_view name) {
  const Filter* filter = find_among(kFilters, name);
  if (filter == nullptr) filter = find_among(text_filters(), name);
  return filter != nullptr ? filter : find_among(sequence_filters(), name);
}

bool is_filter_of_jinja(std::string_view name) {
  return find_filter(name) != nullptr ||
         std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking);
}

}  // namespace parhelion::text::jinja
