#include "text/jinja/python_format.h"
#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace parhelion::text::jinja {
namespace {

/// What a method works on and with.
struct MethodCall {
  Renderer& renderer;
  const Value& self;
  const std::string& name;
  const Arguments& arguments;

  const std::string& text() const { return *self.text(); }
  const DictData& dict() const { return *self.dict(); }

  /// A string argument, or nothing if it is absent or None.
  std::optional<std::string> find_text(std::size_t position, std::string_view key) const {
    const auto value = arguments.find(position, key);
    if (!value || value->get<None>() != nullptr) return std::nullopt;
    if (value->text() == nullptr) {
      renderer.fail_here(fmt::format("{}() needs a string, not {}", name, type_name(*value)));
    }
    return *value->text();
  }
  std::string need_text(std::size_t position, std::string_view key) const {
    const auto value = find_text(position, key);
    if (!value) renderer.fail_here(fmt::format("{}() lacks argument '{}'", name, key));
    return *value;
  }
  std::int64_t integer(std::size_t position, std::string_view key, std::int64_t absent) const {
    const Value value = arguments.get(position, key, absent);
    if (const auto* number = value.get<std::int64_t>()) return *number;
    renderer.fail_here(fmt::format("{}() needs an integer, not {}", name, type_name(value)));
  }
};

using MethodBody = Value (*)(const MethodCall& call);

/// A method by its name. Those of Python that this engine does not know have no body.
struct Method {
  std::string_view name;
  MethodBody body = nullptr;
};

template <class Strings>
Value text_list(const Strings& strings) {
  Values items;
  for (const auto& text : strings) items.emplace_back(text);
  return make_list(std::move(items));
}

Value strip_method(const MethodCall& call) {
  const auto characters = call.find_text(0, "chars");
  std::string_view text = call.text();
  if (call.name != "rstrip")
    text = characters ? strip_left_of(text, *characters) : strip_left(text);
  if (call.name != "lstrip")
    text = characters ? strip_right_of(text, *characters) : strip_right(text);
  return text;
}

Value split_method(const MethodCall& call) {
  const auto separator = call.find_text(0, "sep");
  const std::int64_t limit = call.integer(1, "maxsplit", -1);
  const bool is_right = call.name == "rsplit";
  call.renderer.charge(call.text().size() * 2);
  if (!separator && is_right && limit >= 0)
    call.renderer.fail_unsupported("rsplit at white space with a limit");
  if (!separator) return text_list(split_words(call.text(), limit));
  if (separator->empty()) call.renderer.fail_here("empty separator");
  return text_list(is_right ? split_at_last(call.text(), *separator, limit)
                            : split_at_each(call.text(), *separator, limit));
}

Value affix_method(const MethodCall& call) {
  const auto fits = [&](const Value& affix) {
    if (affix.text() == nullptr) {
      call.renderer.fail_here(
          fmt::format("{}() needs a string, not {}", call.name, type_name(affix)));
    }
    return call.name == "startswith" ? call.text().starts_with(*affix.text())
                                     : call.text().ends_with(*affix.text());
  };
  if (call.arguments.positional.size() > 1)
    call.renderer.fail_unsupported(call.name + " with bounds");
  const Value affix = call.arguments.get(0, "prefix", None{});
  const Values* choices = affix.items();
  if (choices == nullptr) return fits(affix);
  return std::any_of(choices->begin(), choices->end(), fits);
}

Value remove_affix_method(const MethodCall& call) {
  const std::string affix = call.need_text(0, "prefix");
  const std::string_view text = call.text();
  if (call.name == "removeprefix")
    return text.starts_with(affix) ? text.substr(affix.size()) : text;
  return text.ends_with(affix) ? text.substr(0, text.size() - affix.size()) : text;
}

Value replace_method(const MethodCall& call) {
  std::string text = replace_each(call.text(), call.need_text(0, "old"), call.need_text(1, "new"),
                                  call.integer(2, "count", -1));
  call.renderer.charge(text.size());
  return text;
}

Value case_method(const MethodCall& call) {
  call.renderer.charge(call.text().size());
  if (call.name == "lower") return to_lower(call.text());
  if (call.name == "upper") return to_upper(call.text());
  return call.name == "title" ? to_title(call.text()) : to_capitalized(call.text());
}

Value find_method(const MethodCall& call) {
  if (call.arguments.positional.size() > 1)
    call.renderer.fail_unsupported(call.name + " with bounds");
  const std::string part = call.need_text(0, "sub");
  const std::size_t at =
      call.name.starts_with('r') ? call.text().rfind(part) : call.text().find(part);
  call.renderer.charge(call.text().size());
  if (at == std::string::npos && call.name.ends_with("index"))
    call.renderer.fail_here("substring not found");
  if (at == std::string::npos) return std::int64_t{-1};
  return count_characters(std::string_view(call.text()).substr(0, at));
}

Value count_method(const MethodCall& call) {
  const std::string part = call.need_text(0, "sub");
  call.renderer.charge(call.text().size());
  if (part.empty()) return count_characters(call.text()) + 1;
  return static_cast<std::int64_t>(split_at_each(call.text(), part, -1).size()) - 1;
}

Value join_method(const MethodCall& call) {
  std::string out;
  bool is_first = true;
  for (const Value& item : iterate(call.renderer, call.arguments.get(0, "iterable", None{}))) {
    if (item.text() == nullptr) {
      call.renderer.fail_here(fmt::format("join() needs strings, not {}", type_name(item)));
    }
    call.renderer.charge(call.text().size() + item.text()->size());
    if (!is_first) out += call.text();
    out += *item.text();
    is_first = false;
  }
  return out;
}

Value splitlines_method(const MethodCall& call) {
  if (!call.arguments.positional.empty() || !call.arguments.named.empty()) {
    call.renderer.fail_unsupported("splitlines with arguments");
  }
  call.renderer.charge(call.text().size());
  return text_list(split_lines(call.text()));
}

Value isdigit_method(const MethodCall& call) {
  const std::string& text = call.text();
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  if (!is_ascii) call.renderer.fail_unsupported("isdigit beyond ASCII");
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

Value get_method(const MethodCall& call) {
  const auto key = call.arguments.find(0, "key");
  if (!key) call.renderer.fail_here("get() lacks a key");
  const Value* value = call.dict().find(*key);
  return value != nullptr ? *value : call.arguments.get(1, "default", None{});
}

Value members_method(const MethodCall& call) {
  Values out;
  for (const auto& [key, value] : call.dict().items) {
    if (call.name == "items") {
      out.push_back(make_tuple({key, value}));
    } else {
      out.push_back(call.name == "keys" ? key : value);
    }
  }
  call.renderer.charge(out.size() * 32);
  return make_view(std::move(out));
}

Value partition_method(const MethodCall& call) {
  const std::string separator = call.need_text(0, "sep");
  const std::string& text = call.text();
  if (separator.empty()) call.renderer.fail_here("empty separator");
  const bool is_right = call.name == "rpartition";
  const std::size_t at = is_right ? text.rfind(separator) : text.find(separator);
  call.renderer.charge(text.size());
  if (at == std::string::npos) {
    return is_right ? make_tuple({"", "", text}) : make_tuple({text, "", ""});
  }
  return make_tuple({text.substr(0, at), separator, text.substr(at + separator.size())});
}

Value format_method(const MethodCall& call) {
  return format_braces(call.renderer, call.text(), call.arguments);
}

Value justify_method(const MethodCall& call) {
  const std::int64_t width = call.integer(0, "width", 0);
  const std::string fill = call.find_text(1, "fillchar").value_or(" ");
  if (count_characters(fill) != 1) call.renderer.fail_here("the fill character is not one");
  call.renderer.charge(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)) * fill.size());
  if (call.name == "center") return center_text(call.text(), width, fill);
  return call.name == "ljust" ? justify_left(call.text(), width, fill)
                              : justify_right(call.text(), width, fill);
}

Value isspace_method(const MethodCall& call) {
  return !call.text().empty() && strip_both(call.text()).empty();
}

Value copy_method(const MethodCall& call) { return call.self; }

Value list_index_method(const MethodCall& call) {
  if (call.arguments.positional.size() != 1) call.renderer.fail_unsupported("index with bounds");
  const Values& items = *call.self.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (call.renderer.is_equal(items[i], call.arguments.positional[0])) {
      return static_cast<std::int64_t>(i);
    }
  }
  call.renderer.fail_here("the value is not in list");
}

Value list_count_method(const MethodCall& call) {
  if (call.arguments.positional.size() != 1) call.renderer.fail_here("count() takes one argument");
  std::int64_t count = 0;
  for (const Value& item : *call.self.items()) {
    if (call.renderer.is_equal(item, call.arguments.positional[0])) ++count;
  }
  return count;
}

constexpr Method kTextMethods[] = {
    {"strip", strip_method},
    {"lstrip", strip_method},
    {"rstrip", strip_method},
    {"split", split_method},
    {"rsplit", split_method},
    {"splitlines", splitlines_method},
    {"partition", partition_method},
    {"rpartition", partition_method},
    {"startswith", affix_method},
    {"endswith", affix_method},
    {"removeprefix", remove_affix_method},
    {"removesuffix", remove_affix_method},
    {"replace", replace_method},
    {"lower", case_method},
    {"upper", case_method},
    {"title", case_method},
    {"capitalize", case_method},
    {"find", find_method},
    {"rfind", find_method},
    {"index", find_method},
    {"rindex", find_method},
    {"count", count_method},
    {"join", join_method},
    {"format", format_method},
    {"center", justify_method},
    {"ljust", justify_method},
    {"rjust", justify_method},
    {"isdigit", isdigit_method},
    {"isspace", isspace_method},
    {"casefold"},
    {"encode"},
    {"expandtabs"},
    {"format_map"},
    {"isalnum"},
    {"isalpha"},
    {"isascii"},
    {"isdecimal"},
    {"isidentifier"},
    {"islower"},
    {"isnumeric"},
    {"isprintable"},
    {"istitle"},
    {"isupper"},
    {"maketrans"},
    {"swapcase"},
    {"translate"},
    {"zfill"},
};

constexpr Method kDictMethods[] = {
    {"get", get_method},        {"items", members_method}, {"keys", members_method},
    {"values", members_method}, {"copy", copy_method},     {"fromkeys"},
};

constexpr Method kListMethods[] = {
    {"index", list_index_method},
    {"count", list_count_method},
    {"copy", copy_method},
};

constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};

std::span<const Method> methods_of(const Value& object) {
  if (object.text() != nullptr) return kTextMethods;
  if (object.dict() != nullptr) return kDictMethods;
  if (object.items() != nullptr) return kListMethods;
  return {};
}

const Method* find_method_of(const Value& object, std::string_view name) {
  const std::span<const Method> methods = methods_of(object);
  const auto found = std::find_if(methods.begin(), methods.end(),
                                  [&](const Method& method) { return method.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

/// What a method of marked text gives is marked too.
Value mark_result(Renderer& renderer, const Value& result) {
  if (result.text() != nullptr) return Markup{std::make_shared<const std::string>(*result.text())};
  if (result.items() == nullptr) return result;
  Values items;
  for (const Value& item : *result.items()) items.push_back(mark_result(renderer, item));
  renderer.charge(items.size() * 32);
  return make_sequence(std::move(items), (*result.get<ListRef>())->kind);
}

template <class Names>
bool has_name(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool has_method(const Value& object, std::string_view name) {
  return find_method_of(object, name) != nullptr;
}

bool changes_object(const Value& object, std::string_view name) {
  return (object.items() != nullptr && has_name(kListChanges, name) &&
          type_name(object) == "list") ||
         (object.dict() != nullptr && has_name(kDictChanges, name));
}

bool is_lacking_method(std::string_view name) {
  bool is_listed = false;
  for (const std::span<const Method> methods :
       {std::span<const Method>(kTextMethods), std::span<const Method>(kDictMethods)}) {
    for (const Method& method : methods) {
      if (method.name == name && method.body != nullptr) return false;
      is_listed = is_listed || method.name == name;
    }
  }
  return is_listed;
}

Value call_method(Renderer& renderer, const BoundMethod& method, const Arguments& arguments) {
  const Method* found = find_method_of(method.self, method.name);
  if (found == nullptr || found->body == nullptr) {
    renderer.fail_unsupported(
        fmt::format("method '{}' of {}", method.name, type_name(method.self)));
  }
  const bool is_marked = method.self.get<Markup>() != nullptr;
  if (is_marked && (method.name == "join" || method.name == "replace" || method.name == "format")) {
    renderer.fail_unsupported(fmt::format("method '{}' of marked text", method.name));
  }
  const Value result = found->body({renderer, method.self, method.name, arguments});
  return is_marked ? mark_result(renderer, result) : result;
}

}  // namespace parhelion::text::jinja
