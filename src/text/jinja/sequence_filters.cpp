#include "text/jinja/filters.h"
#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"
#include "text/jinja/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace parhelion::text::jinja {
namespace {

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

Value first_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const auto* list = input.get<ListRef>();
  if (list != nullptr && (*list)->taken != nullptr) {  // the others stay for a later use
    std::size_t& taken = *(*list)->taken;
    if (taken < (*list)->items.size()) return (*list)->items[taken++];
    return Undefined{"No first item, sequence was empty."};
  }
  const Values items = iterate(renderer, input);
  return items.empty() ? Value(Undefined{"No first item, sequence was empty."}) : items.front();
}

Value last_filter(Renderer& renderer, const Value& input, const Arguments&) {
  const auto* list = input.get<ListRef>();
  if (list != nullptr && (*list)->kind == ListKind::iterator) {
    renderer.fail_here("'generator' object is not reversible");
  }
  const Values items = iterate(renderer, input);
  return items.empty() ? Value(Undefined{"No last item, sequence was empty."}) : items.back();
}

Value list_filter(Renderer& renderer, const Value& input, const Arguments&) {
  return make_list(iterate(renderer, input));
}

Value reverse_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (input.text() != nullptr) {
    return get_slice(renderer, input, None{}, None{}, std::int64_t{-1});
  }
  const auto* list = input.get<ListRef>();
  const bool is_iterator = list != nullptr && (*list)->kind == ListKind::iterator;
  Values items = iterate(renderer, input);
  std::reverse(items.begin(), items.end());
  return is_iterator ? make_list(std::move(items)) : make_iterator(std::move(items));
}

Values pairs_of(Renderer& renderer, const DictData& dict) {
  Values pairs;
  for (const auto& [key, value] : dict.items) pairs.push_back(make_tuple({key, value}));
  renderer.charge(pairs.size() * 32);
  return pairs;
}

Value items_filter(Renderer& renderer, const Value& input, const Arguments&) {
  if (input.is_undefined()) return make_iterator({});
  if (input.dict() == nullptr) renderer.fail_here("Can only get item pairs from a mapping.");
  return make_iterator(pairs_of(renderer, *input.dict()));
}

enum class Case : std::uint8_t { ignored, sensitive };
enum class Order : std::uint8_t { rising, falling };

Case case_argument(const Arguments& arguments, std::size_t position) {
  return is_true(arguments.get(position, "case_sensitive", false)) ? Case::sensitive
                                                                   : Case::ignored;
}

/// A key to compare by: strings in lower case if case is ignored.
Value fold(Renderer& renderer, Value key, Case letters) {
  if (key.text() == nullptr || letters == Case::sensitive) return key;
  renderer.charge(key.text()->size());
  return to_lower(*key.text());
}

/// Items and the keys to compare them by.
using Keyed = std::vector<std::pair<Value, Value>>;

Values sort_values(Renderer& renderer, Keyed keyed, Order order) {
  renderer.charge(keyed.size() * 32 * 16);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return order == Order::rising ? is_less(renderer, a.first, b.first)
                                  : is_less(renderer, b.first, a.first);
  });
  Values items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return items;
}

Value dictsort_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (input.dict() == nullptr) renderer.fail_here("dictsort needs a mapping");
  const std::string by = renderer.text_of(arguments.get(1, "by", "key"));
  if (by != "key" && by != "value") {
    renderer.fail_here("You can only sort by either \"key\" or \"value\"");
  }
  Keyed keyed;
  for (const Value& pair : pairs_of(renderer, *input.dict())) {
    const Value& key = (*pair.items())[by == "key" ? 0 : 1];
    keyed.emplace_back(fold(renderer, key, case_argument(arguments, 0)), pair);
  }
  const bool is_falling = is_true(arguments.get(2, "reverse", false));
  return make_list(
      sort_values(renderer, std::move(keyed), is_falling ? Order::falling : Order::rising));
}

/// The value of `item` that a filter's argument `attribute` names, or the item itself.
Value attribute_of(Renderer& renderer, const Value& item, const std::optional<Value>& attribute) {
  if (!attribute || attribute->get<None>() != nullptr) return item;
  return follow_path(renderer, item, *attribute);
}

/// The items with the attribute, folded, by which min, max and unique compare them.
Keyed key_items(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Case letters = case_argument(arguments, 0);
  const std::optional<Value> attribute = arguments.find(1, "attribute");
  Keyed keyed;
  for (Value& item : iterate(renderer, input)) {
    Value key = fold(renderer, attribute_of(renderer, item, attribute), letters);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  return keyed;
}

/// The values by which `sort` compares: one for each attribute between commas.
Value sort_key(Renderer& renderer, const Value& item, const std::optional<Value>& attribute,
               Case letters) {
  if (!attribute || attribute->text() == nullptr) {
    return make_list({fold(renderer, attribute_of(renderer, item, attribute), letters)});
  }
  Values keys;
  for (const std::string& path : split_at_each(*attribute->text(), ",", -1)) {
    keys.push_back(fold(renderer, follow_path(renderer, item, path), letters));
  }
  return make_list(std::move(keys));
}

Value sort_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const bool is_falling = is_true(arguments.get(0, "reverse", false));
  const Case letters = case_argument(arguments, 1);
  const std::optional<Value> attribute = arguments.find(2, "attribute");
  Keyed keyed;
  for (Value& item : iterate(renderer, input)) {
    Value key = sort_key(renderer, item, attribute, letters);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  return make_list(
      sort_values(renderer, std::move(keyed), is_falling ? Order::falling : Order::rising));
}

Value extreme(Renderer& renderer, const Keyed& keyed, Order order) {
  if (keyed.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const std::pair<Value, Value>* best = &keyed.front();
  for (const auto& item : keyed) {
    const bool is_better = order == Order::rising ? is_less(renderer, item.first, best->first)
                                                  : is_less(renderer, best->first, item.first);
    if (is_better) best = &item;
  }
  return best->second;
}

Value min_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return extreme(renderer, key_items(renderer, input, arguments), Order::rising);
}
Value max_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return extreme(renderer, key_items(renderer, input, arguments), Order::falling);
}

Value unique_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Keyed seen;
  for (auto& [key, item] : key_items(renderer, input, arguments)) {
    if (key.items() != nullptr || key.dict() != nullptr) {
      renderer.fail_here(fmt::format("unhashable type: '{}'", type_name(key)));
    }
    // Named again, since clang 14 captures no structured binding.
    const bool is_known = std::any_of(
        seen.begin(), seen.end(),
        [&renderer, &own = key](const auto& known) { return renderer.is_equal(known.first, own); });
    if (!is_known) seen.emplace_back(std::move(key), std::move(item));
  }
  Values items;
  for (auto& [key, item] : seen) items.push_back(std::move(item));
  return make_iterator(std::move(items));
}

Value sum_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const std::optional<Value> attribute = arguments.find(0, "attribute");
  Value total = arguments.get(1, "start", std::int64_t{0});
  if (total.text() != nullptr)
    renderer.fail_here("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(renderer, input)) {
    total =
        apply_binary(renderer, BinaryOperator::add, total, attribute_of(renderer, item, attribute));
  }
  return total;
}

Value batch_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value count = arguments.get(0, "linecount", None{});
  const auto* size = count.get<std::int64_t>();
  if (size == nullptr || *size < 1) renderer.fail_here("batch needs a positive number");
  const Value filler = arguments.get(1, "fill_with", None{});
  Values batches;
  Values batch;
  for (Value& item : iterate(renderer, input)) {
    if (static_cast<std::int64_t>(batch.size()) == *size) {
      batches.push_back(make_list(std::exchange(batch, {})));
    }
    batch.push_back(std::move(item));
  }
  while (!batch.empty() && filler.get<None>() == nullptr &&
         static_cast<std::int64_t>(batch.size()) < *size) {
    renderer.charge(32);
    batch.push_back(filler);
  }
  if (!batch.empty()) batches.push_back(make_list(std::move(batch)));
  return make_iterator(std::move(batches));
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
  if (!is_true(input)) return make_iterator({});
  for (const Value& item : iterate(renderer, input)) {
    const Value subject =
        selection.by_attribute ? follow_path(renderer, item, arguments.positional[0]) : item;
    const bool passes =
        test.empty() ? is_true(subject) : passes_test(renderer, test, subject, test_arguments);
    if (passes == selection.keeps_passing) kept.push_back(item);
  }
  return make_iterator(std::move(kept));
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

/// The filter that `map` applies, taken from the front of its arguments.
const Filter* take_mapped_filter(Renderer& renderer, Arguments& arguments) {
  if (arguments.positional.empty()) renderer.fail_here("map requires a filter argument");
  const std::string name = renderer.text_of(arguments.positional[0]);
  const Filter* filter = find_filter(name);
  if (filter == nullptr && is_filter_of_jinja(name)) {
    renderer.fail_unsupported("filter '" + name + "'");
  }
  if (filter == nullptr) renderer.fail_here("No filter named '" + name + "'.");
  arguments.positional.erase(arguments.positional.begin());
  return filter;
}

Value map_attribute(Renderer& renderer, const Value& item, const Value& path,
                    const std::optional<Value>& absent) {
  Value value = follow_path(renderer, item, path);
  return absent && value.is_undefined() ? *absent : value;
}

Value map_filter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!is_true(input)) return make_iterator({});
  const auto attribute = arguments.find(std::string::npos, "attribute");
  const auto absent = arguments.find(std::string::npos, "default");
  const bool by_attribute = attribute && arguments.positional.empty();
  Arguments rest = arguments;
  const Filter* filter = by_attribute ? nullptr : take_mapped_filter(renderer, rest);
  Values out;
  for (const Value& item : iterate(renderer, input)) {
    out.push_back(by_attribute ? map_attribute(renderer, item, *attribute, absent)
                               : filter->apply(renderer, item, rest));
  }
  return make_iterator(std::move(out));
}

constexpr Filter kSequenceFilters[] = {
    {"join", join_filter},
    {"first", first_filter},
    {"last", last_filter},
    {"list", list_filter},
    {"reverse", reverse_filter},
    {"items", items_filter},
    {"dictsort", dictsort_filter},
    {"sort", sort_filter},
    {"min", min_filter},
    {"max", max_filter},
    {"unique", unique_filter},
    {"sum", sum_filter},
    {"batch", batch_filter},
    {"select", select_filter},
    {"reject", reject_filter},
    {"selectattr", selectattr_filter},
    {"rejectattr", rejectattr_filter},
    {"map", map_filter},
};

}  // namespace

std::span<const Filter> sequence_filters() { return kSequenceFilters; }

}  // namespace parhelion::text::jinja
