#include "text/grammar/schema_document.h"

#include <charconv>
#include <optional>
#include <vector>

namespace parhelion::text {
namespace {

/// A step of a JSON pointer in a fragment, without its escapes.
///
/// Source: RFC 6901, sections 4 and 6.
std::optional<std::string> read_pointer_step(std::string_view step) {
  std::string plain;
  for (std::size_t at = 0; at < step.size(); ++at) {
    if (step[at] != '%') {
      plain += step[at];
      continue;
    }
    unsigned char byte = 0;
    const char* begin = step.data() + at + 1;
    if (step.size() - at < 3 || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) {
      return std::nullopt;
    }
    plain += static_cast<char>(byte);
    at += 2;
  }
  std::string result;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] != '~') {
      result += plain[at];
      continue;
    }
    ++at;
    if (at == plain.size() || (plain[at] != '0' && plain[at] != '1')) return std::nullopt;
    result += plain[at] == '0' ? '~' : '/';
  }
  return result;
}

std::string write_pointer_step(std::string_view step) {
  std::string result;
  for (const char c : step) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

const Json* find_child(const Json& parent, const std::string& step) {
  if (!parent.is_array()) return parent.find(step);
  std::size_t index = 0;
  const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
  const Json::Array& items = parent.as_array("");
  if (read.ec != std::errc() || read.ptr != step.data() + step.size()) return nullptr;
  return index < items.size() ? &items[index] : nullptr;
}

/// Extends `path` to where `part` lies below `at`.
bool find_path(const Json& at, const Json* part, std::string& path) {
  if (&at == part) return true;
  const std::size_t length = path.size();
  const auto try_child = [&](const Json& child, std::string_view step) {
    path += '/';
    path += step;
    if (find_path(child, part, path)) return true;
    path.resize(length);
    return false;
  };
  if (at.is_object()) {
    for (const auto& [key, child] : at.as_object("")) {
      if (try_child(child, write_pointer_step(key))) return true;
    }
  } else if (at.is_array()) {
    for (std::size_t i = 0; i < at.as_array("").size(); ++i) {
      if (try_child(at.as_array("")[i], std::to_string(i))) return true;
    }
  }
  return false;
}

}  // namespace

const Json& SchemaDocument::resolve(const Json& from, const Json& reference) const {
  if (!reference.is_string()) refuse(ErrorKind::invalid, from, "$ref is no string");
  std::string_view rest = reference.as_string("$ref");
  if (!rest.starts_with('#')) {
    refuse(ErrorKind::unsupported, from, "$ref leaves the document; expected #/...");
  }
  rest.remove_prefix(1);
  const Json* at = &root_;
  while (at != nullptr && !rest.empty()) {
    if (rest[0] != '/') refuse(ErrorKind::unsupported, from, "$ref names an anchor");
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    const std::optional<std::string> step = read_pointer_step(rest.substr(1, end - 1));
    at = step ? find_child(*at, *step) : nullptr;
    rest.remove_prefix(end);
  }
  if (at == nullptr) refuse(ErrorKind::invalid, from, "$ref names nothing in the document");
  return *at;
}

std::string SchemaDocument::path_of(const Json& part) const {
  std::string path = "#";
  find_path(root_, &part, path);
  return path;
}

}  // namespace parhelion::text
