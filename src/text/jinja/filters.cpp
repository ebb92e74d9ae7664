#include "text/jinja/filters.h"

#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"
#include "text/jinja/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace parhelion::text::jinja {
namespace {

std::string text_argument(Renderer& renderer, const Arguments& arguments, std::size_t position,
                          std::string_view name, std::string_view absent) {
  const Value value = arguments.get(position, name, absent);
  if (value.text() == nullptr) {
    renderer.fail_here(fmt::format("argument '{}' is {}, expected str", name, type_name(value)));
  }
  return *value.text();
}

Value made_text(Renderer& renderer, std::string text) {
  renderer.charge(text.size());
  return text;
}

Value tojson_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  JsonStyle style{.ascii_only = is_true(arguments.get(0, "ensure_ascii", false)),
                  .sorted_keys = is_true(arguments.get(3, "sort_keys", false))};
  const Value indent = arguments.get(1, "indent", None{});
  const Value separators = arguments.get(2, "separators", None{});
  if (const auto* width = indent.get<std::int64_t>()) {
    style.indent =
        std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(*width, 0, 64)), ' ');
  } else if (indent.text() != nullptr) {
    style.indent = *indent.text();
  }
  if (style.indent) style.item_separator = ",";
  if (const Values* pair = separators.items()) {
    if (pair->size() != 2) renderer.fail_here("tojson: separators are not two");
    style.item_separator = renderer.text_of((*pair)[0]);
    style.key_separator = renderer.text_of((*pair)[1]);
  }
  if (input.is_undefined()) renderer.fail_here("Object of type Undefined is not JSON serializable");
  renderer.charge_walk(input);
  return made_text(renderer, to_json(input, style));
}

Value trim_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const std::string text = renderer.text_of(input);
  const Value characters = arguments.get(0, "chars", None{});
  if (characters.text() == nullptr) return made_text(renderer, std::string(strip_both(text)));
  return made_text(renderer, std::string(strip_right_of(strip_left_of(text, *characters.text()),
                                                        *characters.text())));
}

Value length_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (const std::string* text = input.text()) return count_characters(*text);
  if (const Values* items = input.items()) return static_cast<std::int64_t>(items->size());
  if (const DictData* dict = input.dict()) return static_cast<std::int64_t>(dict->items.size());
  if (input.is_undefined()) return std::int64_t{0};
  renderer.fail_here(fmt::format("object of type '{}' has no len()", type_name(input)));
}

Value default_filter(Renderer&, const Value& input, const Arguments& arguments) {
  const bool is_missing =
      input.is_undefined() || (is_true(arguments.get(1, "boolean", false)) && !is_true(input));
  return is_missing ? arguments.get(0, "default_value", "") : input;
}

/// The attribute `path` of a value, with dots between names and numbers.
Value follow_path(Renderer& renderer, Value value, const Value& path) {
  if (path.text() == nullptr) return get_item(renderer, value, path);
  for (const std::string& part : split_at_each(*path.text(), ".", -1)) {
    const bool is_number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    std::int64_t index = 0;
    if (is_number) std::from_chars(part.data(), part.data() + part.size(), index);
    value = get_item(renderer, value, is_number ? Value(index) : Value(part));
  }
  return value;
}

Value join_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const std::string separator = renderer.text_of(arguments.get(0, "d", ""));
  const auto attribute = arguments.find(1, "attribute");
  std::string out;
  bool is_first = true;
  for (const Value& item : iterate(renderer, input)) {
    const std::string text =
        renderer.text_of(attribute ? follow_path(renderer, item, *attribute) : item);
    renderer.charge(separator.size() + text.size());
    if (!is_first) out += separator;
    out += text;
    is_first = false;
  }
  return out;
}

Value lower_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_lower(renderer.text_of(input)));
}
Value upper_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_upper(renderer.text_of(input)));
}
Value capitalize_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, to_capitalized(renderer.text_of(input)));
}

Value replace_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value count = arguments.get(2, "count", None{});
  const auto* limit = count.get<std::int64_t>();
  const std::string from = renderer.text_of(arguments.get(0, "old", ""));
  const std::string to = renderer.text_of(arguments.get(1, "new", ""));
  return made_text(renderer,
                   replace_each(renderer.text_of(input), from, to, limit == nullptr ? -1 : *limit));
}

Value first_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const Values items = iterate(renderer, input);
  return items.empty() ? Value(Undefined{"no first item, sequence was empty"}) : items.front();
}
Value last_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const Values items = iterate(renderer, input);
  return items.empty() ? Value(Undefined{"no last item, sequence was empty"}) : items.back();
}
Value list_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return make_list(iterate(renderer, input));
}
Value reverse_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (input.text() != nullptr) {
    return get_slice(renderer, input, None{}, None{}, std::int64_t{-1});
  }
  Values items = iterate(renderer, input);
  std::reverse(items.begin(), items.end());
  return make_list(std::move(items));
}

Value items_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (input.is_undefined()) return make_list({});
  if (input.dict() == nullptr) renderer.fail_here("can only get item pairs from a mapping");
  Values out;
  for (const auto& [key, value] : input.dict()->items) out.push_back(make_tuple({key, value}));
  renderer.charge(out.size() * 32);
  return make_list(std::move(out));
}

/// Sorts `items` by a key of each; strings without regard to case unless `is_case_sensitive`.
template <class KeyOf>
void sort_values(Renderer& renderer, Values& items, bool is_case_sensitive, const KeyOf& key_of) {
  const auto folded = [&](const Value& item) {
    const Value key = key_of(item);
    return key.text() != nullptr && !is_case_sensitive ? Value(to_lower(*key.text())) : key;
  };
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) keyed.emplace_back(folded(item), std::move(item));
  renderer.charge(keyed.size() * 32 * 16);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return is_less(renderer, a.first, b.first);
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = std::move(keyed[i].second);
}

Value dictsort_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (input.dict() == nullptr) renderer.fail_here("dictsort needs a mapping");
  const std::string by = text_argument(renderer, arguments, 1, "by", "key");
  if (by != "key" && by != "value") renderer.fail_here("dictsort sorts by 'key' or 'value'");
  const Value listed = items_filter(renderer, input, {});
  Values pairs = *listed.items();
  const std::size_t index = by == "key" ? 0 : 1;
  sort_values(renderer, pairs, is_true(arguments.get(0, "case_sensitive", false)),
              [index](const Value& pair) { return (*pair.items())[index]; });
  if (is_true(arguments.get(2, "reverse", false))) std::reverse(pairs.begin(), pairs.end());
  return make_list(std::move(pairs));
}

Value string_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return made_text(renderer, renderer.text_of(input));
}

Value int_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (arguments.find(1, "base")) renderer.fail_unsupported("int with a base");
  if (const auto* flag = input.get<bool>()) return std::int64_t{*flag};
  if (input.get<std::int64_t>() != nullptr) return input;
  double number = 0;
  if (const auto* given = input.get<double>()) {
    number = *given;
  } else {
    const std::string text(strip_both(renderer.text_of(input)));
    std::int64_t whole = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, whole);
    if (!text.empty() && error == std::errc() && stop == end) return whole;
    const auto [float_stop, float_error] = std::from_chars(text.data(), end, number);
    if (text.empty() || float_error != std::errc() || float_stop != end) {
      return arguments.get(0, "default", std::int64_t{0});
    }
  }
  const bool fits = number > -9.2e18 && number < 9.2e18;
  return fits ? Value(static_cast<std::int64_t>(number))
              : arguments.get(0, "default", std::int64_t{0});
}

Value float_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (const auto* flag = input.get<bool>()) return *flag ? 1.0 : 0.0;
  if (const auto* whole = input.get<std::int64_t>()) return static_cast<double>(*whole);
  if (input.get<double>() != nullptr) return input;
  const std::string text(strip_both(renderer.text_of(input)));
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_number = !text.empty() && error == std::errc() && stop == end;
  return is_number ? Value(number) : arguments.get(0, "default", 0.0);
}

Value abs_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const bool is_negative = is_less(renderer, input, std::int64_t{0});
  return apply_sign(renderer, is_negative ? UnaryOperator::negate : UnaryOperator::plus, input);
}

/// What select, reject and their relatives keep.
struct Selection {
  bool by_attribute = false;
  bool keeps_passing = true;
};

Value select_items(Renderer& renderer, const Value& input, const Arguments& arguments,
                   Selection selection) {
  const std::size_t test_at = selection.by_attribute ? 1 : 0;
  if (selection.by_attribute && arguments.positional.empty())
    renderer.fail_here("lacks an attribute");
  std::string test;
  Values test_arguments;
  if (arguments.positional.size() > test_at) {
    test = renderer.text_of(arguments.positional[test_at]);
    const auto first = arguments.positional.begin() + static_cast<std::ptrdiff_t>(test_at) + 1;
    test_arguments.assign(first, arguments.positional.end());
    if (test == "==") test = "eq";
    if (!is_known_test(test)) renderer.fail_unsupported("test '" + test + "'");
  }
  Values kept;
  for (const Value& item : iterate(renderer, input)) {
    const Value subject =
        selection.by_attribute ? follow_path(renderer, item, arguments.positional[0]) : item;
    const bool passes =
        test.empty() ? is_true(subject) : passes_test(renderer, test, subject, test_arguments);
    if (passes == selection.keeps_passing) kept.push_back(item);
  }
  return make_list(std::move(kept));
}

Value select_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return select_items(renderer, input, arguments, {});
}
Value reject_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return select_items(renderer, input, arguments, {.keeps_passing = false});
}
Value selectattr_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return select_items(renderer, input, arguments, {.by_attribute = true});
}
Value rejectattr_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return select_items(renderer, input, arguments, {.by_attribute = true, .keeps_passing = false});
}

Value map_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Values out;
  const auto attribute = arguments.find(std::string::npos, "attribute");
  const auto absent = arguments.find(std::string::npos, "default");
  const Filter* filter = nullptr;
  Arguments rest;
  if (!attribute) {
    if (arguments.positional.empty()) renderer.fail_here("map requires a filter argument");
    const std::string name = renderer.text_of(arguments.positional[0]);
    filter = find_filter(name);
    if (filter == nullptr) renderer.fail_unsupported("filter '" + name + "'");
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
    rest.named = arguments.named;
  }
  for (const Value& item : iterate(renderer, input)) {
    Value value =
        attribute ? follow_path(renderer, item, *attribute) : filter->apply(renderer, item, rest);
    if (attribute && absent && value.is_undefined()) value = *absent;
    out.push_back(std::move(value));
  }
  return make_list(std::move(out));
}

Value safe_filter(Renderer&, const Value& input, const Arguments&) { return input; }

Value indent_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value width = arguments.get(0, "width", std::int64_t{4});
  const auto* columns = width.get<std::int64_t>();
  const std::string indention =
      columns != nullptr
          ? std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(*columns, 0, 1024)), ' ')
          : renderer.text_of(width);
  const bool indents_blank = is_true(arguments.get(2, "blank", false));
  std::string out = is_true(arguments.get(1, "first", false)) ? indention : "";
  bool is_first = true;
  const std::string text = renderer.text_of(input);
  for (const std::string& line : split_at_each(text, "\n", -1)) {
    if (!is_first) out += '\n';
    if (!is_first && (indents_blank || !line.empty())) out += indention;
    out += line;
    renderer.charge(line.size() + indention.size());
    is_first = false;
  }
  return out;
}

constexpr Filter kFilters[] = {
    {"tojson", tojson_filter},
    {"trim", trim_filter},
    {"length", length_filter},
    {"count", length_filter},
    {"default", default_filter},
    {"d", default_filter},
    {"join", join_filter},
    {"lower", lower_filter},
    {"upper", upper_filter},
    {"capitalize", capitalize_filter},
    {"replace", replace_filter},
    {"first", first_filter},
    {"last", last_filter},
    {"list", list_filter},
    {"reverse", reverse_filter},
    {"items", items_filter},
    {"dictsort", dictsort_filter},
    {"string", string_filter},
    {"int", int_filter},
    {"select", select_filter},
    {"reject", reject_filter},
    {"selectattr", selectattr_filter},
    {"rejectattr", rejectattr_filter},
    {"map", map_filter},
    {"abs", abs_filter},
    {"float", float_filter},
    {"safe", safe_filter},
    {"indent", indent_filter},
};

}  // namespace

const Filter* find_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const Filter& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace parhelion::text::jinja
