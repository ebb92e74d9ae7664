#include "base/toml.h"

#include "base/error.h"

#include <algorithm>
#include <toml++/toml.h>
#include <utility>
#include <vector>

namespace parhelion {
namespace {

Json json_of_toml(const toml::node& node, std::string_view where);

Json array_of_toml(const toml::array& array, std::string_view where) {
  Json::Array result;
  for (const toml::node& item : array) result.push_back(json_of_toml(item, where));
  return result;
}

/// The library sorts keys; an object keeps the order of the text.
Json object_of_toml(const toml::table& table, std::string_view where) {
  std::vector<std::pair<toml::source_position, Json::Member>> members;
  for (const auto& [key, value] : table) {
    members.push_back({key.source().begin, {std::string(key.str()), json_of_toml(value, where)}});
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Json::Object result;
  for (auto& member : members) result.push_back(std::move(member.second));
  return result;
}

[[noreturn]] void refuse_date(const toml::node& node, std::string_view where) {
  fail(ErrorKind::invalid, "{}:{}:{}: a date or time, which no key takes; a string needs quotes",
       where, node.source().begin.line, node.source().begin.column);
}

Json json_of_toml(const toml::node& node, std::string_view where) {
  switch (node.type()) {
    case toml::node_type::table:
      return object_of_toml(*node.as_table(), where);
    case toml::node_type::array:
      return array_of_toml(*node.as_array(), where);
    case toml::node_type::string:
      return node.as_string()->get();
    case toml::node_type::integer:
      return node.as_integer()->get();
    case toml::node_type::floating_point:
      return node.as_floating_point()->get();
    case toml::node_type::boolean:
      return node.as_boolean()->get();
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      refuse_date(node, where);
    case toml::node_type::none:
      break;
  }
  fail(ErrorKind::bug, "{}: a TOML node without a type", where);
}

bool is_date_or_time(const toml::node& node) {
  return node.is_date() || node.is_time() || node.is_date_time();
}

}  // namespace

Json parse_toml(std::string_view text, std::string_view where) try {
  return object_of_toml(toml::parse(text), where);
} catch (const toml::parse_error& error) {
  const toml::source_position at = error.source().begin;
  fail(ErrorKind::invalid, "{}:{}:{}: {}", where, at.line, at.column, error.description());
}

std::optional<Json> parse_toml_value(std::string_view text) try {
  const toml::table table = toml::parse(fmt::format("value = {}", text));
  const toml::node* value = table.get("value");
  if (table.size() != 1 || value == nullptr || is_date_or_time(*value)) return std::nullopt;
  return json_of_toml(*value, text);
} catch (const toml::parse_error&) {
  return std::nullopt;
}

}  // namespace parhelion
