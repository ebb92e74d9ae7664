#pragma once

#include "base/json.h"
#include "base/setting.h"

#include <cstdint>

namespace parhelion {

template <class T>
Json write_value(const T& value);

/// A struct as an object of all its settings, from which `read_settings` makes an equal one. A
/// std::optional without value is left out.
template <SettingTable T>
Json write_settings(const T& table) {
  Json::Object object;
  for_each_setting<T>([&](const auto& each) {
    const auto& member = table.*(each.member);
    if constexpr (kIsOptional<std::decay_t<decltype(member)>>) {
      if (!member) return;
    }
    object.emplace_back(each.name, write_value(member));
  });
  return object;
}

/// A value of any type that a setting may have.
template <class T>
Json write_value(const T& value) {
  if constexpr (SettingTable<T>) {
    return write_settings(value);
  } else if constexpr (kIsOptional<T>) {
    return write_value(*value);
  } else if constexpr (kIsList<T>) {
    Json::Array items;
    for (const auto& item : value) items.push_back(write_value(item));
    return items;
  } else if constexpr (std::is_enum_v<T>) {
    return choice_name(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else {
    return value;
  }
}

/// Puts `directory` before each relative path among the settings that is not empty.
template <class T>
void resolve_paths(T& value, const std::filesystem::path& directory) {
  if constexpr (SettingTable<T>) {
    for_each_setting<T>([&](const auto& each) { resolve_paths(value.*(each.member), directory); });
  } else if constexpr (kIsOptional<T>) {
    if (value) resolve_paths(*value, directory);
  } else if constexpr (kIsList<T>) {
    for (auto& item : value) resolve_paths(item, directory);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    if (!value.empty()) value = (directory / value).lexically_normal();
  }
}

}  // namespace parhelion
