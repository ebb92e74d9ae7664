#include "base/read_settings.h"

#include "base/nearest.h"

#include <algorithm>
#include <cmath>

namespace parhelion {
namespace {

/// What a wrong value is called in a message.
std::string setting_text(const Json& json) {
  if (json.is_object()) return "a table";
  if (json.is_array()) return "a list";
  const bool is_double = json.is_number() && !json.is_integer();
  return is_double ? fmt::format("{}", json.as_double("setting")) : write_json(json);
}

bool expect_type(bool is_right, const Json& json, const SettingPlace& place,
                 std::string_view expected) {
  return place.problems->expect(is_right, "{}: is {}, expected {}", place.path, setting_text(json),
                                expected);
}

/// What to write instead of a key that is not known.
std::string advice(std::string_view key, std::span<const std::string_view> names) {
  const std::string_view meant = nearest(key, names);
  if (!meant.empty()) return fmt::format("did you mean '{}'?", meant);
  return fmt::format("expected one of {}", fmt::join(names, ", "));
}

}  // namespace

void read_plain(const Json& json, const SettingPlace& place, bool& value) {
  if (expect_type(json.is_bool(), json, place, "true or false")) value = json.as_bool(place.path);
}

void read_plain(const Json& json, const SettingPlace& place, std::int64_t& value) {
  if (expect_type(json.is_integer(), json, place, "an integer")) value = json.as_int64(place.path);
}

void read_plain(const Json& json, const SettingPlace& place, double& value) {
  const bool is_finite = json.is_number() && std::isfinite(json.as_double(place.path));
  if (expect_type(is_finite, json, place, "a finite number")) value = json.as_double(place.path);
}

void read_plain(const Json& json, const SettingPlace& place, std::string& value) {
  if (expect_type(json.is_string(), json, place, "a string")) value = json.as_string(place.path);
}

void read_plain(const Json& json, const SettingPlace& place, std::filesystem::path& value) {
  if (expect_type(json.is_string(), json, place, "a path")) value = json.as_string(place.path);
}

std::optional<std::size_t> read_name(const Json& json, const SettingPlace& place,
                                     std::span<const std::string_view> names) {
  const auto found = json.is_string()
                         ? std::find(names.begin(), names.end(), json.as_string(place.path))
                         : names.end();
  const std::string expected = fmt::format("one of {}", fmt::join(names, ", "));
  if (!expect_type(found != names.end(), json, place, expected)) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::span<const Json> read_items(const Json& json, const SettingPlace& place) {
  if (!expect_type(json.is_array(), json, place, "a list")) return {};
  return json.as_array(place.path);
}

bool check_table(const Json& json, const SettingPlace& place,
                 std::span<const std::string_view> names) {
  if (!expect_type(json.is_object(), json, place, "a table")) return false;
  for (const auto& [key, value] : json.as_object(place.path)) {
    place.problems->expect(std::find(names.begin(), names.end(), key) != names.end(),
                           "unknown key '{}', {}", setting_path(place.path, key),
                           advice(key, names));
  }
  return true;
}

}  // namespace parhelion
