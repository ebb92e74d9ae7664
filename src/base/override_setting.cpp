#include "base/override_setting.h"

#include "base/error.h"
#include "base/toml.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace parhelion {
namespace {

struct Assignment {
  std::string_view text;  // the whole of it, for messages
  Json value;
};

Json assigned_value(std::string_view value, std::string_view assignment) {
  const std::optional<Json> parsed = parse_toml_value(value);
  if (parsed) return *parsed;
  const bool is_bare = std::string_view("[{\"'").find(value.substr(0, 1)) == std::string_view::npos;
  ensure(is_bare || value.empty(), ErrorKind::invalid, "'{}': the value is no TOML", assignment);
  return value;
}

Json with_assigned(const Json& tree, std::string_view path, const Assignment& assignment);

Json list_with_assigned(const Json::Array& list, std::string_view key, std::string_view rest,
                        const Assignment& assignment) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
  ensure(code == std::errc() && end == key.data() + key.size() && index < list.size(),
         ErrorKind::invalid, "'{}': '{}' is no index into a list of {}", assignment.text, key,
         list.size());
  Json::Array result = list;
  result[index] = with_assigned(list[index], rest, assignment);
  return result;
}

Json table_with_assigned(const Json::Object& table, std::string_view key, std::string_view rest,
                         const Assignment& assignment) {
  Json::Object result = table;
  const auto is_key = [&](const Json::Member& member) { return member.first == key; };
  auto found = std::find_if(result.begin(), result.end(), is_key);
  if (found == result.end()) found = result.insert(found, {std::string(key), Json()});
  found->second = with_assigned(found->second, rest, assignment);
  return result;
}

/// `tree` with the value at `path`; null is what is missing.
Json with_assigned(const Json& tree, std::string_view path, const Assignment& assignment) {
  if (path.empty()) return assignment.value;
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  if (tree.is_array()) return list_with_assigned(tree.as_array(key), key, rest, assignment);
  ensure(tree.is_null() || tree.is_object(), ErrorKind::invalid,
         "'{}': what should have key '{}' is {}, expected a table", assignment.text, key,
         write_json(tree));
  const Json::Object table = tree.is_null() ? Json::Object{} : tree.as_object(key);
  return table_with_assigned(table, key, rest, assignment);
}

bool is_key_path(std::string_view path) {
  return !path.empty() && path.front() != '.' && path.back() != '.' &&
         path.find("..") == std::string_view::npos;
}

}  // namespace

Json override_setting(const Json& tree, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  ensure(equals != std::string_view::npos && is_key_path(assignment.substr(0, equals)),
         ErrorKind::invalid, "'{}': expected an assignment such as optimizer.lr=1e-4", assignment);
  const Json value = assigned_value(assignment.substr(equals + 1), assignment);
  return with_assigned(tree, assignment.substr(0, equals), {assignment, value});
}

}  // namespace parhelion
