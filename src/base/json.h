#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion {

/// A JSON value. Objects keep the order of the text; their keys are unique.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(std::uint64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// An integer literal that fits in 64 bits, signed or unsigned.
  bool is_integer() const;
  /// Any number literal.
  bool is_number() const;

  /// The value as the named type. `where` names it in errors, such as `config.json: hidden_size`.
  ///
  /// Errors: invalid if it has another type; as_int64 also if it does not fit; as_double accepts
  /// integers.
  bool as_bool(std::string_view where) const;
  std::int64_t as_int64(std::string_view where) const;
  double as_double(std::string_view where) const;
  const std::string& as_string(std::string_view where) const;
  const Array& as_array(std::string_view where) const;
  const Object& as_object(std::string_view where) const;

  /// The member `key` of an object, or null if this is no object or has no such member.
  const Json* find(std::string_view key) const;

  /// The name of the value's type: null, boolean, integer, number, string, array, object.
  std::string_view type_name() const;

  bool operator==(const Json&) const = default;

 private:
  friend std::string write_json(const Json& value);
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

/// What a parser accepts from an untrusted text.
struct JsonLimits {
  std::size_t depth = 64;           ///< nesting of arrays and objects
  std::size_t values = 50'000'000;  ///< values in all, keys included
};

/// Parses one JSON text (RFC 8259, UTF-8).
///
/// Errors: corrupt if it is no JSON, has invalid UTF-8, repeats a key or passes a limit; the
/// message begins with
///         `where` and says the byte offset.
Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

/// Writes compact JSON. Doubles are the shortest text that reads back to the same bits; NaN and
/// infinities are null.
std::string write_json(const Json& value);

}  // namespace parhelion
