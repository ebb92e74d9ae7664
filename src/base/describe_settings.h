#pragma once

#include "base/setting.h"
#include "base/write_settings.h"

namespace parhelion {

/// One key of a reference, or the head of a table.
struct SettingLine {
  std::string name;      ///< with its tables, such as `optimizer.lr`; `[optimizer]` is a head
  std::string type;      ///< `number`, `list of path`; empty for a head
  std::string presence;  ///< `required`, `optional`, or the default
  std::string_view meaning;
};

/// The reference, one line a key, with an empty line before each head.
std::string reference_text(const std::vector<SettingLine>& lines);

/// What a value of type `T` is called in a reference.
template <class T>
std::string setting_type() {
  if constexpr (kIsOptional<T>) {
    return setting_type<SettingItem<T>>();
  } else if constexpr (kIsList<T>) {
    return "list of " + setting_type<SettingItem<T>>();
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("one of {}", fmt::join(choice_names<T>(), ", "));
  } else if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return "integer";
  } else if constexpr (std::is_same_v<T, double>) {
    return "number";
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return "path";
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return "string";
  }
}

template <class T>
std::string setting_presence(bool is_required, const T& value) {
  if (is_required) return "required";
  if constexpr (kIsOptional<T>) {
    if (!value) return "optional";
  }
  return "default " + write_json(write_value(value));
}

/// Appends the keys of `T` to `lines`; `path` is that of the table, empty for the root.
template <SettingTable T>
void describe_table(std::string_view path, std::vector<SettingLine>& lines) {
  const T defaults;
  for_each_setting<T>([&](const auto& each) {
    const auto& value = defaults.*(each.member);
    using Value = std::decay_t<decltype(value)>;
    using Item = SettingItem<Value>;
    const std::string name = setting_path(path, each.name);
    if constexpr (SettingTable<Item>) {
      const std::string head = kIsList<Value> ? "[[" + name + "]]" : "[" + name + "]";
      lines.push_back({head, "", kIsOptional<Value> ? "optional" : "", each.meaning});
      describe_table<Item>(name, lines);
    } else {
      lines.push_back(
          {name, setting_type<Value>(), setting_presence(each.is_required, value), each.meaning});
    }
  });
}

/// The reference of a file whose root is a `T`.
template <SettingTable T>
std::string describe_settings() {
  std::vector<SettingLine> lines;
  describe_table<T>("", lines);
  return reference_text(lines);
}

}  // namespace parhelion
