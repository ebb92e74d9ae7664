#pragma once

#include <string_view>

namespace parhelion {

/// A key of a table of settings: where its value goes and what it means. A struct describes its
/// keys beside itself, by `constexpr auto settings(const T*) { return std::tuple(...); }`, and its
/// member initialisers are the defaults (`settings.h` has what can be done with that).
///
/// A value is a bool, std::int64_t, double, std::string, std::filesystem::path, an enum with
/// `choices`, a struct with `settings`, or a std::optional or std::vector of these.
template <class Table, class Value>
struct Setting {
  std::string_view name;
  Value Table::*member = nullptr;
  std::string_view meaning;
  bool is_required = false;
};

/// A key that may be left out.
template <class Table, class Value>
constexpr Setting<Table, Value> setting(std::string_view name, Value Table::*member,
                                        std::string_view meaning) {
  return {name, member, meaning, false};
}

/// A key that must be given.
template <class Table, class Value>
constexpr Setting<Table, Value> required_setting(std::string_view name, Value Table::*member,
                                                 std::string_view meaning) {
  return {name, member, meaning, true};
}

/// What an enumerator is called in a file. An enum lists all of them beside itself, by
/// `constexpr auto choices(const E*) { return std::array{choice("none", E::none), ...}; }`.
template <class Enum>
struct Choice {
  std::string_view name;
  Enum value{};
};

template <class Enum>
constexpr Choice<Enum> choice(std::string_view name, Enum value) {
  return {name, value};
}

}  // namespace parhelion
