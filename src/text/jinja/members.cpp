#include "text/jinja/filters.h"
#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>

namespace parhelion::text::jinja {
namespace {

std::string object_name(const Value& value) {
  if (value.get<None>() != nullptr) return "None";
  return std::string(type_name(value)) + " object";
}

Value missing_attribute(const Value& object, std::string_view name) {
  return Undefined{fmt::format("'{}' has no attribute '{}'", object_name(object), name)};
}

Value loop_item(const LoopData& loop, std::int64_t index, std::string_view what) {
  const Values& items = loop.items->items;
  if (index < 0 || index >= static_cast<std::int64_t>(items.size())) {
    return Undefined{fmt::format("there is no {} item", what)};
  }
  return items[static_cast<std::size_t>(index)];
}

std::optional<Value> loop_attribute(const LoopData& loop, std::string_view name) {
  const auto length = static_cast<std::int64_t>(loop.items->items.size());
  if (name == "index") return Value(loop.index + 1);
  if (name == "index0") return Value(loop.index);
  if (name == "revindex") return Value(length - loop.index);
  if (name == "revindex0") return Value(length - loop.index - 1);
  if (name == "first") return Value(loop.index == 0);
  if (name == "last") return Value(loop.index + 1 == length);
  if (name == "length") return Value(length);
  if (name == "depth") return Value(std::int64_t{1});
  if (name == "depth0") return Value(std::int64_t{0});
  if (name == "previtem") return loop_item(loop, loop.index - 1, "previous");
  if (name == "nextitem") return loop_item(loop, loop.index + 1, "next");
  return std::nullopt;
}

/// An index of a sequence of `size` items, counted from the end if negative; -1 if there is none.
std::int64_t resolve_index(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  return index >= 0 && index < count ? index : -1;
}

std::optional<Value> sequence_item(Renderer& renderer, const Value& object, std::int64_t index) {
  if (const Values* items = object.items()) {
    const std::int64_t at = resolve_index(index, items->size());
    return at < 0 ? std::nullopt : std::optional((*items)[static_cast<std::size_t>(at)]);
  }
  if (const std::string* text = object.text()) {
    renderer.charge(text->size());
    const std::vector<std::string_view> characters = split_characters(*text);
    const std::int64_t at = resolve_index(index, characters.size());
    if (at < 0) return std::nullopt;
    return made_text(renderer, std::string(characters[static_cast<std::size_t>(at)]), object);
  }
  return std::nullopt;
}

std::optional<std::int64_t> slice_part(Renderer& renderer, const Value& part) {
  if (part.get<None>() != nullptr) return std::nullopt;
  if (const auto* flag = part.get<bool>()) return *flag ? 1 : 0;
  const auto* number = part.get<std::int64_t>();
  if (number == nullptr) renderer.fail_here("slice indices must be integers or None");
  return *number;
}

/// The positions that a slice takes from a sequence of `size` items.
std::vector<std::size_t> slice_positions(std::int64_t size, std::optional<std::int64_t> start,
                                         std::optional<std::int64_t> stop, std::int64_t step) {
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<std::int64_t> part, std::int64_t absent) {
    if (!part) return absent;
    return std::clamp(*part < 0 ? *part + size : *part, low, high);
  };
  std::vector<std::size_t> positions;
  std::int64_t at = bound(start, step > 0 ? low : high);
  const std::int64_t end = bound(stop, step > 0 ? high : low);
  while (step > 0 ? at < end : at > end) {
    positions.push_back(static_cast<std::size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return positions;
}

/// All items, or those that an iterator has left.
Values take_items(const ListData& list) {
  if (list.taken == nullptr) return list.items;
  const auto first = list.items.begin() + static_cast<std::ptrdiff_t>(*list.taken);
  *list.taken = list.items.size();
  return {first, list.items.end()};
}

}  // namespace

Value get_attribute(Renderer& renderer, const Value& object, const std::string& name) {
  if (const auto* undefined = object.get<Undefined>()) renderer.fail_here(undefined->what);
  if (changes_object(object, name)) {
    return Undefined{
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object))};
  }
  if (has_method(object, name)) {
    const auto* list = object.get<ListRef>();
    const std::int32_t nesting = list != nullptr            ? (*list)->nesting
                                 : object.dict() != nullptr ? object.dict()->nesting
                                                            : 1;
    return std::make_shared<const Function>(Function{BoundMethod{object, name}, nesting + 1});
  }
  if (const DictData* dict = object.dict()) {
    const Value* value = dict->find(std::string_view(name));
    return value != nullptr ? *value : missing_attribute(object, name);
  }
  if (const auto* names = object.get<NamespaceRef>()) {
    const auto found = (*names)->members.find(name);
    return found != (*names)->members.end() ? found->second : missing_attribute(object, name);
  }
  if (const auto* loop = object.get<LoopRef>()) {
    if (auto value = loop_attribute(**loop, name)) return *value;
    if (name == "cycle" || name == "changed") renderer.fail_unsupported("'loop." + name + "'");
  }
  return missing_attribute(object, name);
}

Value get_item(Renderer& renderer, const Value& object, const Value& index) {
  if (const auto* undefined = object.get<Undefined>()) renderer.fail_here(undefined->what);
  if (const DictData* dict = object.dict()) {
    if (const Value* value = dict->find(index)) return *value;
  }
  if (const auto* flag = index.get<bool>())
    return get_item(renderer, object, Value(std::int64_t{*flag}));
  if (const auto* number = index.get<std::int64_t>()) {
    if (auto value = sequence_item(renderer, object, *number)) return *value;
  }
  if (index.text() != nullptr && object.dict() == nullptr) {
    return get_attribute(renderer, object, *index.text());
  }
  const bool names_method = index.text() != nullptr && (has_method(object, *index.text()) ||
                                                        changes_object(object, *index.text()));
  if (names_method) {
    return get_attribute(renderer, object, *index.text());
  }
  if (index.text() != nullptr) return missing_attribute(object, *index.text());
  return Undefined{
      fmt::format("{} has no element {}", object_name(object), renderer.text_of(index))};
}

Value get_slice(Renderer& renderer, const Value& object, const Value& start, const Value& stop,
                const Value& step) {
  if (const auto* undefined = object.get<Undefined>()) renderer.fail_here(undefined->what);
  const std::int64_t stride = slice_part(renderer, step).value_or(1);
  if (stride == 0) renderer.fail_here("slice step cannot be zero");
  const auto first = slice_part(renderer, start);
  const auto last = slice_part(renderer, stop);
  if (const std::string* text = object.text()) {
    renderer.charge(text->size());
    const std::vector<std::string_view> characters = split_characters(*text);
    std::string out;
    for (const std::size_t at :
         slice_positions(static_cast<std::int64_t>(characters.size()), first, last, stride)) {
      out += characters[at];
    }
    return made_text(renderer, std::move(out), object);
  }
  const Values* items = object.items();
  if (items == nullptr) return Undefined{object_name(object) + " has no element slice"};
  Values out;
  for (const std::size_t at :
       slice_positions(static_cast<std::int64_t>(items->size()), first, last, stride)) {
    out.push_back((*items)[at]);
  }
  renderer.charge(out.size() * 32);
  return make_sequence(std::move(out), (*object.get<ListRef>())->kind);
}

Values iterate(Renderer& renderer, const Value& value) {
  if (value.is_undefined()) return {};
  Values out;
  if (const auto* list = value.get<ListRef>()) {
    out = take_items(**list);
  } else if (const DictData* dict = value.dict()) {
    for (const auto& [key, item] : dict->items) out.push_back(key);
  } else if (const std::string* text = value.text()) {
    renderer.charge(text->size() * 32);
    for (const std::string_view character : split_characters(*text)) out.emplace_back(character);
  } else {
    renderer.fail_here(fmt::format("'{}' object is not iterable", type_name(value)));
  }
  renderer.charge(out.size() * 8);
  return out;
}

}  // namespace parhelion::text::jinja
