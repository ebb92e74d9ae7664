#pragma once

#include "base/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// Reads the fields of a request's object, and remembers which it was asked for. A field that is
/// null is as good as absent.
///
/// Errors: all but the constructor's: 400 `invalid_value` with the field's name, if it is there
///         and has another type or is out of range.
class Fields {
 public:
  /// Errors: 400 `invalid_json` if `body` is no JSON object of unique keys within 64 levels.
  explicit Fields(std::string_view body);

  /// The value, or null; only looked at.
  const Json* find(std::string_view name);
  bool has(std::string_view name) { return find(name) != nullptr; }

  bool boolean(std::string_view name, bool absent);
  std::optional<double> number(std::string_view name, double lowest, double highest);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t lowest,
                                      std::int64_t highest);
  std::optional<std::string> text(std::string_view name);
  /// Errors: also if it is absent.
  std::string required_text(std::string_view name);
  /// One string or a list of strings.
  std::vector<std::string> texts(std::string_view name, std::int64_t most);
  std::vector<std::int32_t> ids(std::string_view name, std::int64_t most);

  /// Fields that change nothing here are accepted by these names.
  void accept(std::initializer_list<std::string_view> names);
  /// Refuses fields that would change the answer: unless they are absent or `harmless` says that
  /// their value asks for nothing, 400 `unsupported_feature`.
  void refuse_unless_off(std::string_view name, std::string_view why);

  /// Names that nobody asked for.
  std::vector<std::string> unknown() const;

 private:
  Json body_;
  std::vector<std::string_view> asked_;
};

/// Whether a value asks for nothing: false, 0, an empty string, list or object.
bool asks_for_nothing(const Json& value);

/// A list of ids. Errors: 400 `invalid_value`.
std::vector<std::int32_t> read_ids(const Json& value, std::string_view name, std::int64_t most);

}  // namespace parhelion::app
