#include "base/json.h"

#include "base/error.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>

#include <charconv>
#include <cmath>
#include <unordered_set>

namespace parhelion {
namespace {

namespace bj = boost::json;

/// Receives the parser's events and builds a `Json` bottom-up.
struct JsonHandler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::size_t values_left = 0;
  std::string text;               // the string, key or number being read
  std::vector<Json> values;       // finished values of open containers
  std::vector<std::string> keys;  // keys of open objects
  std::string repeated_key;

  bool add(Json value, bj::error_code& code) {
    if (values_left == 0) {
      code = bj::error::array_too_large;
      return false;
    }
    --values_left;
    values.push_back(std::move(value));
    return true;
  }
  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return true; }
  bool on_array_begin(bj::error_code&) { return true; }
  bool on_array_end(std::size_t count, bj::error_code& code) {
    const auto first = values.end() - static_cast<std::ptrdiff_t>(count);
    Json::Array array(std::make_move_iterator(first), std::make_move_iterator(values.end()));
    values.erase(first, values.end());
    return add(std::move(array), code);
  }
  bool on_object_end(std::size_t count, bj::error_code& code) {
    const auto first = values.end() - static_cast<std::ptrdiff_t>(count);
    const auto first_key = keys.end() - static_cast<std::ptrdiff_t>(count);
    Json::Object object;
    object.reserve(count);
    std::unordered_set<std::string_view> seen;
    seen.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::string& key = first_key[static_cast<std::ptrdiff_t>(i)];
      if (!seen.insert(key).second) {
        repeated_key = key;
        code = bj::error::syntax;
        return false;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      object.emplace_back(std::move(first_key[static_cast<std::ptrdiff_t>(i)]),
                          std::move(first[static_cast<std::ptrdiff_t>(i)]));
    }
    values.erase(first, values.end());
    keys.erase(first_key, keys.end());
    return add(std::move(object), code);
  }
  bool append(bj::string_view part) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) { return append(part); }
  bool on_key(bj::string_view part, std::size_t, bj::error_code&) {
    append(part);
    keys.push_back(std::exchange(text, {}));
    return true;
  }
  bool on_string_part(bj::string_view part, std::size_t, bj::error_code&) { return append(part); }
  bool on_string(bj::string_view part, std::size_t, bj::error_code& code) {
    append(part);
    return add(std::exchange(text, {}), code);
  }
  bool on_number_part(bj::string_view part, bj::error_code&) { return append(part); }
  bool on_int64(std::int64_t value, bj::string_view, bj::error_code& code) {
    text.clear();
    return add(value, code);
  }
  bool on_uint64(std::uint64_t value, bj::string_view, bj::error_code& code) {
    text.clear();
    return add(value, code);
  }
  // Boost 1.81's own value is often the double beside the nearest one.
  bool on_double(double value, bj::string_view part, bj::error_code& code) {
    append(part);
    std::from_chars(text.data(), text.data() + text.size(), value);
    text.clear();
    if (std::isinf(value)) code = bj::error::exponent_overflow;
    return !code && add(value, code);
  }
  bool on_bool(bool value, bj::error_code& code) { return add(value, code); }
  bool on_null(bj::error_code& code) { return add(nullptr, code); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }
};

void write_text(std::string_view text, std::string& out) {
  out += bj::serialize(bj::value(bj::string_view(text.data(), text.size())));
}

void write_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::string text =
      fmt::format("{}", value);  // the shortest text that reads back to the same bits
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  out += text;
}

struct JsonWriter {
  std::string& out;

  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { out += fmt::format("{}", value); }
  void operator()(std::uint64_t value) const { out += fmt::format("{}", value); }
  void operator()(double value) const { write_double(value, out); }
  void operator()(const std::string& value) const { write_text(value, out); }
  void operator()(const Json::Array& array) const {
    out += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i != 0) out += ',';
      out += write_json(array[i]);
    }
    out += ']';
  }
  void operator()(const Json::Object& object) const {
    out += '{';
    for (std::size_t i = 0; i < object.size(); ++i) {
      if (i != 0) out += ',';
      write_text(object[i].first, out);
      out += ':';
      out += write_json(object[i].second);
    }
    out += '}';
  }
};

}  // namespace

bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_) ||
         std::holds_alternative<std::uint64_t>(value_);
}

bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }

bool Json::as_bool(std::string_view where) const {
  ensure(is_bool(), ErrorKind::invalid, "{}: is {}, expected boolean", where, type_name());
  return std::get<bool>(value_);
}

std::int64_t Json::as_int64(std::string_view where) const {
  ensure(is_integer(), ErrorKind::invalid, "{}: is {}, expected integer", where, type_name());
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  const auto value = std::get<std::uint64_t>(value_);
  ensure(value <= static_cast<std::uint64_t>(INT64_MAX), ErrorKind::invalid,
         "{}: is {}, expected an integer below 2^63", where, value);
  return static_cast<std::int64_t>(value);
}

double Json::as_double(std::string_view where) const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  ensure(is_integer(), ErrorKind::invalid, "{}: is {}, expected number", where, type_name());
  return static_cast<double>(std::get<std::int64_t>(value_));
}

const std::string& Json::as_string(std::string_view where) const {
  ensure(is_string(), ErrorKind::invalid, "{}: is {}, expected string", where, type_name());
  return std::get<std::string>(value_);
}

const Json::Array& Json::as_array(std::string_view where) const {
  ensure(is_array(), ErrorKind::invalid, "{}: is {}, expected array", where, type_name());
  return std::get<Array>(value_);
}

const Json::Object& Json::as_object(std::string_view where) const {
  ensure(is_object(), ErrorKind::invalid, "{}: is {}, expected object", where, type_name());
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

std::string_view Json::type_name() const {
  if (is_null()) return "null";
  if (is_bool()) return "boolean";
  if (is_integer()) return "integer";
  if (is_number()) return "number";
  if (is_string()) return "string";
  return is_array() ? "array" : "object";
}

Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
  bj::parse_options options;
  options.max_depth = limits.depth;
  bj::basic_parser<JsonHandler> parser(options);
  parser.handler().values_left = limits.values;
  bj::error_code code;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), code);
  JsonHandler& handler = parser.handler();
  ensure(handler.repeated_key.empty(), ErrorKind::corrupt, "{}: key '{}' is repeated", where,
         handler.repeated_key);
  ensure(!code, ErrorKind::corrupt, "{}: no JSON at byte {}: {}", where, read, code.message());
  const std::size_t end = text.find_first_not_of(" \t\r\n", read);
  ensure(end == std::string_view::npos, ErrorKind::corrupt,
         "{}: text after the JSON value at byte {}", where, end);
  return std::move(handler.values.front());
}

std::string write_json(const Json& value) {
  std::string out;
  std::visit(JsonWriter{out}, value.value_);
  return out;
}

}  // namespace parhelion
