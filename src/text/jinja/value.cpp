#include "text/jinja/value.h"

#include "base/error.h"
#include "text/jinja/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace parhelion::text::jinja {
namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// A string as Python writes it in quotes. Characters beyond ASCII are taken as printable.
std::string quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == quote || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + quote;
}

std::string list_repr(const ListData& list) {
  if (list.kind == ListKind::iterator) return "<generator>";
  const bool is_tuple = list.kind == ListKind::tuple;
  std::string out = is_tuple ? "(" : "[";
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i != 0) out += ", ";
    out += to_repr(list.items[i]);
  }
  if (is_tuple && list.items.size() == 1) out += ',';
  return out + (is_tuple ? ")" : "]");
}

std::string dict_repr(const DictData& dict) {
  std::string out = "{";
  for (const auto& [key, value] : dict.items) {
    if (out.size() > 1) out += ", ";
    out += to_repr(key) + ": " + to_repr(value);
  }
  return out + "}";
}

struct ReprWriter {
  std::string operator()(const Undefined&) const { return "Undefined"; }
  std::string operator()(None) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(const TextRef& value) const { return quoted(*value); }
  std::string operator()(const Markup& value) const {
    return "Markup(" + quoted(*value.text) + ")";
  }
  std::string operator()(const ListRef& value) const { return list_repr(*value); }
  std::string operator()(const DictRef& value) const { return dict_repr(*value); }
  std::string operator()(const NamespaceRef&) const { return "<Namespace>"; }
  std::string operator()(const LoopRef&) const { return "<LoopContext>"; }
  std::string operator()(const FunctionRef&) const { return "<function>"; }
};

struct TypeName {
  std::string_view operator()(const Undefined&) const { return "Undefined"; }
  std::string_view operator()(None) const { return "NoneType"; }
  std::string_view operator()(bool) const { return "bool"; }
  std::string_view operator()(std::int64_t) const { return "int"; }
  std::string_view operator()(double) const { return "float"; }
  std::string_view operator()(const TextRef&) const { return "str"; }
  std::string_view operator()(const Markup&) const { return "Markup"; }
  std::string_view operator()(const ListRef& list) const {
    switch (list->kind) {
      case ListKind::list:
        return "list";
      case ListKind::tuple:
        return "tuple";
      case ListKind::view:
        return "dict view";
      case ListKind::iterator:
        return "generator";
    }
    return "";
  }
  std::string_view operator()(const DictRef&) const { return "dict"; }
  std::string_view operator()(const NamespaceRef&) const { return "Namespace"; }
  std::string_view operator()(const LoopRef&) const { return "LoopContext"; }
  std::string_view operator()(const FunctionRef&) const { return "function"; }
};

struct Truth {
  bool operator()(const Undefined&) const { return false; }
  bool operator()(None) const { return false; }
  bool operator()(bool value) const { return value; }
  bool operator()(std::int64_t value) const { return value != 0; }
  bool operator()(double value) const { return value != 0; }
  bool operator()(const TextRef& value) const { return !value->empty(); }
  bool operator()(const Markup& value) const { return !value.text->empty(); }
  bool operator()(const ListRef& value) const {
    return value->kind == ListKind::iterator || !value->items.empty();
  }
  bool operator()(const DictRef& value) const { return !value->items.empty(); }
  bool operator()(const NamespaceRef&) const { return true; }
  bool operator()(const LoopRef&) const { return true; }
  bool operator()(const FunctionRef&) const { return true; }
};

/// A bool, int or float as a number, or nothing.
std::optional<double> numeric(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? 1.0 : 0.0;
  if (const auto* number = value.get<std::int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.get<double>()) return *number;
  return std::nullopt;
}

bool are_equal_lists(const ListData& a, const ListData& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!are_equal(a.items[i], b.items[i])) return false;
  }
  return true;
}

bool are_equal_dicts(const DictData& a, const DictData& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (other == nullptr || !are_equal(value, *other)) return false;
  }
  return true;
}

std::int32_t nesting_of(const Value& value) {
  if (const auto* list = value.get<ListRef>()) return (*list)->nesting;
  if (const auto* dict = value.get<DictRef>()) return (*dict)->nesting;
  if (const auto* loop = value.get<LoopRef>()) return (*loop)->items->nesting + 1;
  if (const auto* function = value.get<FunctionRef>()) return (*function)->nesting;
  return 0;
}

/// The nesting of a container that holds `value`.
std::int32_t nesting_around(const Value& value) {
  constexpr std::int32_t kMaxNesting = 128;  // destruction and printing recurse
  const std::int32_t nesting = nesting_of(value) + 1;
  ensure(nesting <= kMaxNesting, ErrorKind::invalid,
         "chat template: values are nested deeper than {} levels", kMaxNesting);
  return nesting;
}

std::int64_t add_weights(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return std::min(a + b, kMost);
}

}  // namespace

const Values* Value::items() const {
  const ListRef* list = get<ListRef>();
  const bool is_indexed =
      list != nullptr && ((*list)->kind == ListKind::list || (*list)->kind == ListKind::tuple);
  return is_indexed ? &(*list)->items : nullptr;
}

const DictData* Value::dict() const {
  const DictRef* dict = get<DictRef>();
  return dict == nullptr ? nullptr : dict->get();
}

const Value* DictData::find(const Value& key) const {
  for (const auto& [known, value] : items) {
    if (are_equal(known, key)) return &value;
  }
  return nullptr;
}

const Value* DictData::find(std::string_view key) const {
  for (const auto& [known, value] : items) {
    if (known.text() != nullptr && *known.text() == key) return &value;
  }
  return nullptr;
}

void DictData::set(const Value& key, Value value) {
  for (auto& [known, old] : items) {
    if (are_equal(known, key)) {
      old = std::move(value);
      return;
    }
  }
  items.emplace_back(key, std::move(value));
}

Value make_sequence(Values items, ListKind kind) {
  ListData list{.items = std::move(items), .kind = kind};
  for (const Value& item : list.items) {
    list.nesting = std::max(list.nesting, nesting_around(item));
    list.weight = add_weights(list.weight, weight_of(item));
  }
  if (kind == ListKind::iterator) list.taken = std::make_shared<std::size_t>(0);
  return std::make_shared<const ListData>(std::move(list));
}

Value make_list(Values items) { return make_sequence(std::move(items), ListKind::list); }
Value make_tuple(Values items) { return make_sequence(std::move(items), ListKind::tuple); }
Value make_view(Values items) { return make_sequence(std::move(items), ListKind::view); }
Value make_iterator(Values items) { return make_sequence(std::move(items), ListKind::iterator); }

Value make_dict(DictData dict) {
  dict.nesting = 1;
  dict.weight = 1;
  for (const auto& [key, value] : dict.items) {
    dict.nesting = std::max({dict.nesting, nesting_around(key), nesting_around(value)});
    dict.weight = add_weights(dict.weight, add_weights(weight_of(key), weight_of(value)));
  }
  return std::make_shared<const DictData>(std::move(dict));
}

Value from_json(const Json& json) {
  constexpr std::string_view kWhere = "chat template: variable";
  if (json.is_null()) return None{};
  if (json.is_bool()) return json.as_bool(kWhere);
  if (json.is_integer()) return json.as_int64(kWhere);
  if (json.is_number()) return json.as_double(kWhere);
  if (json.is_string()) return json.as_string(kWhere);
  if (json.is_array()) {
    Values items;
    for (const Json& item : json.as_array(kWhere)) items.push_back(from_json(item));
    return make_list(std::move(items));
  }
  DictData dict;
  for (const auto& [key, value] : json.as_object(kWhere)) {
    dict.items.emplace_back(key, from_json(value));
  }
  return make_dict(std::move(dict));
}

std::int64_t weight_of(const Value& value) {
  if (const std::string* text = value.text())
    return 1 + static_cast<std::int64_t>(text->size() / 32);
  if (const auto* list = value.get<ListRef>()) return (*list)->weight;
  return value.dict() != nullptr ? value.dict()->weight : 1;
}

bool is_true(const Value& value) { return std::visit(Truth{}, value.data()); }

bool are_equal(const Value& a, const Value& b) {
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() == *b.text();
  const auto* left = a.get<std::int64_t>();
  const auto* right = b.get<std::int64_t>();
  if (left != nullptr && right != nullptr) return *left == *right;
  const auto left_number = numeric(a);
  const auto right_number = numeric(b);
  if (left_number && right_number) return *left_number == *right_number;
  if (a.data().index() != b.data().index()) return false;
  if (a.get<ListRef>() != nullptr && *a.get<ListRef>() == *b.get<ListRef>()) return true;
  if (a.items() != nullptr && b.items() != nullptr)
    return are_equal_lists(**a.get<ListRef>(), **b.get<ListRef>());
  if (a.dict() != nullptr) return are_equal_dicts(*a.dict(), *b.dict());
  if (a.get<ListRef>() != nullptr) return false;  // a view or iterator is equal to itself alone
  if (const auto* names = a.get<NamespaceRef>()) return *names == *b.get<NamespaceRef>();
  if (const auto* loop = a.get<LoopRef>()) return *loop == *b.get<LoopRef>();
  if (const auto* function = a.get<FunctionRef>()) return *function == *b.get<FunctionRef>();
  return true;  // both undefined or both None
}

std::string to_text(const Value& value) {
  if (value.is_undefined()) return {};
  return value.text() != nullptr ? *value.text() : to_repr(value);
}

std::string to_repr(const Value& value) { return std::visit(ReprWriter{}, value.data()); }

std::string_view type_name(const Value& value) { return std::visit(TypeName{}, value.data()); }

}  // namespace parhelion::text::jinja
