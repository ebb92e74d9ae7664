#pragma once

#include "base/json.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion::text::jinja {

class Value;
using Values = std::vector<Value>;

/// What a name or a member that does not exist evaluates to.
struct Undefined {
  std::string what;  ///< the message of the error if it is used
};
struct None {};
/// Text that `safe` or `escape` marked as HTML: joined with other text, it escapes that.
struct Markup {
  std::shared_ptr<const std::string> text;
};

struct ListData;
struct DictData;
struct NamespaceData;
struct LoopData;
struct Function;

using TextRef = std::shared_ptr<const std::string>;
using ListRef = std::shared_ptr<const ListData>;
using DictRef = std::shared_ptr<const DictData>;
using NamespaceRef = std::shared_ptr<NamespaceData>;
using LoopRef = std::shared_ptr<const LoopData>;
using FunctionRef = std::shared_ptr<const Function>;

/// A value of a template, with the meaning it has in Python. Copies share what is large; only
/// namespaces change.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, TextRef, Markup, ListRef,
                            DictRef, NamespaceRef, LoopRef, FunctionRef>;

  Value() = default;
  Value(Undefined value) : data_(std::move(value)) {}
  Value(None value) : data_(value) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(Markup value) : data_(std::move(value)) {}
  Value(ListRef value) : data_(std::move(value)) {}
  Value(DictRef value) : data_(std::move(value)) {}
  Value(NamespaceRef value) : data_(std::move(value)) {}
  Value(LoopRef value) : data_(std::move(value)) {}
  Value(FunctionRef value) : data_(std::move(value)) {}

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  /// The text of a string, be it marked or not, or null.
  const std::string* text() const {
    if (const Markup* markup = get<Markup>()) return markup->text.get();
    const TextRef* ref = get<TextRef>();
    return ref == nullptr ? nullptr : ref->get();
  }
  /// The items of a list or tuple, or null; not those of a view or iterator.
  const Values* items() const;
  /// The dict, or null.
  const DictData* dict() const;
  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  const Data& data() const { return data_; }

 private:
  Data data_;
};

/// What kind of sequence a ListData is.
enum class ListKind : std::uint8_t {
  list,
  tuple,
  view,      ///< what dict.items() and the like give: it has a length, but no items by index
  iterator,  ///< what map, select and the like give: it passes each item once
};

struct ListData {
  Values items;
  ListKind kind = ListKind::list;
  std::int32_t nesting = 1;                 ///< how many values lie within each other
  std::int64_t weight = 1;                  ///< see weight_of
  std::shared_ptr<std::size_t> taken = {};  ///< of an iterator: how many items it has passed
};

/// Keys in the order of their insertion.
struct DictData {
  std::vector<std::pair<Value, Value>> items;
  std::int32_t nesting = 1;
  std::int64_t weight = 1;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
};

struct NamespaceData {
  std::map<std::string, Value, std::less<>> members;
};

/// The state of a loop, which its body knows as `loop`.
struct LoopData {
  ListRef items;
  std::int64_t index = 0;
};

/// Errors: invalid if values would be nested deeper than 128 levels.
Value make_list(Values items);
Value make_tuple(Values items);
Value make_view(Values items);
Value make_iterator(Values items);
Value make_sequence(Values items, ListKind kind);
Value make_dict(DictData dict);
/// Errors: invalid if a number needs more than 64 bits.
Value from_json(const Json& json);

/// How many values and 32 bytes of text printing `value` visits, up to 2^40. Values that share
/// parts may be far larger in print than in memory.
std::int64_t weight_of(const Value& value);

bool is_true(const Value& value);
bool are_equal(const Value& a, const Value& b);

/// What `str(value)` gives.
std::string to_text(const Value& value);
/// What `repr(value)` gives.
std::string to_repr(const Value& value);
/// The name of the type in Python: str, int, dict, NoneType and so on.
std::string_view type_name(const Value& value);

struct JsonStyle {
  bool ascii_only = false;
  bool sorted_keys = false;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  std::optional<std::string> indent = {};  ///< of one level; none = all on one line
};

/// The type of a value within `value` that has no form in JSON, or nothing.
std::optional<std::string_view> find_type_without_json(const Value& value);

/// What `json.dumps(value)` gives. All within it must have a form in JSON.
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace parhelion::text::jinja
