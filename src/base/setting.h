#pragma once

#include "base/error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace parhelion {

/// A key of a table of settings: where its value goes and what it means. A struct lists its keys
/// beside itself, by `constexpr auto settings(const T*) { return std::tuple(setting(...), ...); }`,
/// and its member initialisers are the defaults.
///
/// A value is a bool, std::int64_t, double, std::string, std::filesystem::path, an enum with
/// `choices`, a struct with `settings`, or a std::optional or std::vector of these. A key of type
/// std::optional that is left out stays empty; a struct that is left out has its defaults.
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

/// A struct that lists its settings.
template <class T>
concept SettingTable = requires {
  settings(static_cast<const T*>(nullptr));
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class T>
struct SettingItemOf {
  using Type = T;
};
template <class T>
struct SettingItemOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct SettingItemOf<std::vector<T>> {
  using Type = T;
};

/// What an optional or a list is of; any other type itself.
template <class T>
using SettingItem = typename SettingItemOf<T>::Type;

/// Calls `visit` with each setting of `T`, in their order.
template <SettingTable T, class Visit>
constexpr void for_each_setting(Visit visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); },
             settings(static_cast<const T*>(nullptr)));
}

/// The name of an enumerator, as files have it.
template <class Enum>
std::string_view choice_name(Enum value) {
  for (const auto& each : choices(static_cast<const Enum*>(nullptr))) {
    if (each.value == value) return each.name;
  }
  fail(ErrorKind::bug, "enumerator {} has no name", static_cast<int>(value));
}

/// The names of all enumerators.
template <class Enum>
std::vector<std::string_view> choice_names() {
  std::vector<std::string_view> names;
  for (const auto& each : choices(static_cast<const Enum*>(nullptr))) names.push_back(each.name);
  return names;
}

/// `table.key`, or `key` in the root, whose path is empty.
inline std::string setting_path(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
}

}  // namespace parhelion
