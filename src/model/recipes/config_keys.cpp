#include "model/recipes/config_keys.h"

#include "base/error.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace parhelion::model {
namespace {

/// Equal values; numbers are equal however they are written.
bool same_value(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.as_double("a") == b.as_double("b");
  return a == b;
}

}  // namespace

ConfigKeys::ConfigKeys(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  ensure(object.is_object(), ErrorKind::invalid, "{}: is {}, expected object", where_,
         object.type_name());
}

const Json* ConfigKeys::find(std::string_view key) {
  seen_.emplace(key);
  const Json* value = object_.find(key);
  return value && value->is_null() ? nullptr : value;
}

const Json& ConfigKeys::required(std::string_view key) {
  const Json* value = find(key);
  ensure(value != nullptr, ErrorKind::invalid, "{}: {} is missing", where_, key);
  return *value;
}

std::int64_t ConfigKeys::size(std::string_view key, std::optional<std::int64_t> otherwise,
                              std::int64_t most) {
  if (otherwise && !find(key)) return *otherwise;
  const std::int64_t value = required(key).as_int64(fmt::format("{}: {}", where_, key));
  ensure(value >= 1 && value <= most, ErrorKind::invalid, "{}: {} is {}, expected 1 to {}", where_,
         key, value, most);
  return value;
}

double ConfigKeys::positive(std::string_view key, std::optional<double> otherwise) {
  if (otherwise && !find(key)) return *otherwise;
  const double value = required(key).as_double(fmt::format("{}: {}", where_, key));
  ensure(std::isfinite(value) && value > 0, ErrorKind::invalid, "{}: {} is {}, expected > 0",
         where_, key, value);
  return value;
}

bool ConfigKeys::flag(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  return value ? value->as_bool(fmt::format("{}: {}", where_, key)) : otherwise;
}

void ConfigKeys::expect(std::string_view key, const Json& value) {
  const Json* found = find(key);
  ensure(!found || same_value(*found, value), ErrorKind::unsupported, "{}: {} is {}, expected {}",
         where_, key, found ? write_json(*found) : "", write_json(value));
}

void ConfigKeys::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) seen_.emplace(key);
}

void ConfigKeys::finish() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : object_.as_object(where_))
    if (!seen_.contains(key)) unknown.push_back(fmt::format("'{}'", key));
  ensure(unknown.empty(), ErrorKind::unsupported, "{}: unknown keys {}", where_,
         fmt::join(unknown, ", "));
}

}  // namespace parhelion::model
