#pragma once

#include "base/json.h"
#include "base/problems.h"
#include "base/setting.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace parhelion {

/// Where a value is in the file, and who hears of it if it is wrong.
struct SettingPlace {
  std::string path;
  Problems* problems = nullptr;
};

/// Reads a plain value, or tells why it is none.
void read_plain(const Json& json, const SettingPlace& place, bool& value);
void read_plain(const Json& json, const SettingPlace& place, std::int64_t& value);
void read_plain(const Json& json, const SettingPlace& place, double& value);
void read_plain(const Json& json, const SettingPlace& place, std::string& value);
void read_plain(const Json& json, const SettingPlace& place, std::filesystem::path& value);

/// Which of `names` the value is, if any.
std::optional<std::size_t> read_name(const Json& json, const SettingPlace& place,
                                     std::span<const std::string_view> names);

/// The items of a list; none if it is no list.
std::span<const Json> read_items(const Json& json, const SettingPlace& place);

/// Whether the value is a table; keys that are not in `names` are told.
bool check_table(const Json& json, const SettingPlace& place,
                 std::span<const std::string_view> names);

template <class T>
void read_value(const Json& json, const SettingPlace& place, T& value);

template <SettingTable T>
void read_table(const Json& json, const SettingPlace& place, T& table) {
  std::vector<std::string_view> names;
  for_each_setting<T>([&](const auto& each) { names.push_back(each.name); });
  if (!check_table(json, place, names)) return;
  for_each_setting<T>([&](const auto& each) {
    auto& member = table.*(each.member);
    const SettingPlace inner{setting_path(place.path, each.name), place.problems};
    const Json* found = json.find(each.name);
    if (found != nullptr) return read_value(*found, inner, member);
    place.problems->expect(!each.is_required, "missing key '{}'", inner.path);
    if constexpr (SettingTable<std::decay_t<decltype(member)>>) {
      read_table(Json(Json::Object{}), inner, member);  // it may require keys
    }
  });
}

/// Reads a value of any type that a setting may have.
template <class T>
void read_value(const Json& json, const SettingPlace& place, T& value) {
  if constexpr (SettingTable<T>) {
    read_table(json, place, value);
  } else if constexpr (kIsOptional<T>) {
    read_value(json, place, value.emplace());
  } else if constexpr (kIsList<T>) {
    value.clear();
    for (const Json& item : read_items(json, place)) {
      const std::string path = setting_path(place.path, fmt::format("{}", value.size()));
      read_value(item, {path, place.problems}, value.emplace_back());
    }
  } else if constexpr (std::is_enum_v<T>) {
    const auto index = read_name(json, place, choice_names<T>());
    if (index) value = choices(static_cast<const T*>(nullptr))[*index].value;
  } else {
    read_plain(json, place, value);
  }
}

/// Reads a struct by its settings. `where` begins each line of an error.
///
/// Errors: invalid, with a line for each unknown or missing key and each value of a wrong type.
template <SettingTable T>
T read_settings(const Json& json, std::string_view where) {
  T table;
  Problems problems;
  read_table(json, {{}, &problems}, table);
  problems.raise(where);
  return table;
}

}  // namespace parhelion
