#include "app/http/fields.h"

#include "app/http/api_error.h"

#include <algorithm>
#include <limits>

namespace parhelion::app {
namespace {

constexpr JsonLimits kBodyLimits{.depth = 64, .values = 2'000'000};

Json parse_body(std::string_view body) {
  try {
    Json json = parse_json(body, "body", kBodyLimits);
    if (!json.is_object())
      refuse(400, "invalid_json", fmt::format("body: is {}, expected object", json.type_name()));
    return json;
  } catch (const RefusedRequest&) {
    throw;
  } catch (const Error& error) {
    refuse(400, "invalid_json", error.what());
  }
}

[[noreturn]] void refuse_type(std::string_view name, const Json& value, std::string_view expected) {
  refuse_value(name, fmt::format("{}: is {}, expected {}", name, value.type_name(), expected));
}

}  // namespace

bool asks_for_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool({});
  if (value.is_number()) return value.as_double({}) == 0;
  if (value.is_string()) return value.as_string({}).empty();
  return value.is_array() ? value.as_array({}).empty() : value.as_object({}).empty();
}

std::vector<std::int32_t> read_ids(const Json& value, std::string_view name, std::int64_t most) {
  if (!value.is_array()) refuse_type(name, value, "a list of token ids");
  const Json::Array& items = value.as_array(name);
  if (static_cast<std::int64_t>(items.size()) > most)
    refuse_value(name,
                 fmt::format("{}: has {} ids, expected at most {}", name, items.size(), most));
  std::vector<std::int32_t> ids;
  ids.reserve(items.size());
  for (const Json& item : items) {
    if (!item.is_integer()) refuse_type(name, item, "a token id");
    const double id = item.as_double(name);  // of any size
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
      refuse_value(name, fmt::format("{}: {} is no token id", name, id));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

Fields::Fields(std::string_view body) : body_(parse_body(body)) {}

const Json* Fields::find(std::string_view name) {
  asked_.push_back(name);
  const Json* value = body_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool Fields::boolean(std::string_view name, bool absent) {
  const Json* value = find(name);
  if (value == nullptr) return absent;
  if (!value->is_bool()) refuse_type(name, *value, "boolean");
  return value->as_bool(name);
}

std::optional<double> Fields::number(std::string_view name, double lowest, double highest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse_type(name, *value, "number");
  const double number = value->as_double(name);
  if (!(number >= lowest && number <= highest))
    refuse_value(name, fmt::format("{}: is {}, expected {} to {}", name, number, lowest, highest));
  return number;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t lowest,
                                            std::int64_t highest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_integer()) refuse_type(name, *value, "integer");
  const double size = value->as_double(name);
  if (size < static_cast<double>(lowest) || size > static_cast<double>(highest))
    refuse_value(name, fmt::format("{}: is {}, expected {} to {}", name, size, lowest, highest));
  return value->as_int64(name);
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse_type(name, *value, "string");
  return value->as_string(name);
}

std::string Fields::required_text(std::string_view name) {
  std::optional<std::string> value = text(name);
  if (!value) refuse_value(name, fmt::format("{}: is missing, expected a string", name));
  return *value;
}

std::vector<std::string> Fields::texts(std::string_view name, std::int64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->as_string(name)};
  if (!value->is_array()) refuse_type(name, *value, "a string or a list of strings");
  const Json::Array& items = value->as_array(name);
  if (static_cast<std::int64_t>(items.size()) > most)
    refuse_value(name,
                 fmt::format("{}: has {} strings, expected at most {}", name, items.size(), most));
  std::vector<std::string> texts;
  for (const Json& item : items) {
    if (!item.is_string()) refuse_type(name, item, "string");
    texts.push_back(item.as_string(name));
  }
  return texts;
}

std::vector<std::int32_t> Fields::ids(std::string_view name, std::int64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  return read_ids(*value, name, most);
}

void Fields::accept(std::initializer_list<std::string_view> names) {
  asked_.insert(asked_.end(), names);
}

void Fields::refuse_unless_off(std::string_view name, std::string_view why) {
  const Json* value = find(name);
  if (value == nullptr || asks_for_nothing(*value)) return;
  refuse_feature(name, fmt::format("{}: {}", name, why));
}

std::vector<std::string> Fields::unknown() const {
  std::vector<std::string> names;
  for (const Json::Member& member : body_.as_object("body")) {
    if (std::ranges::find(asked_, member.first) == asked_.end()) names.push_back(member.first);
  }
  return names;
}

}  // namespace parhelion::app
