#include "base/error.h"
#include "text/jinja/value.h"
#include "text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parhelion::text::jinja {
namespace {

/// Writes one value; keeps the depth for the indentation.
class JsonTextWriter {
 public:
  explicit JsonTextWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    if (const std::string* text = value.text()) return write_string(*text);
    if (const Values* items = value.items()) return write_list(*items);
    if (const DictData* dict = value.dict()) return write_dict(*dict);
    out_ += scalar(value);
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string scalar(const Value& value) {
    if (value.get<None>() != nullptr) return "null";
    if (const auto* flag = value.get<bool>()) return *flag ? "true" : "false";
    if (value.get<std::int64_t>() != nullptr) return to_repr(value);
    const auto* number = value.get<double>();
    ensure(number != nullptr, ErrorKind::bug, "to_json: a value of type {}", type_name(value));
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
    return to_repr(value);
  }

  void break_line() {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < depth_; ++i) out_ += *style_.indent;
  }

  void separate(bool is_first) {
    if (!is_first) out_ += style_.item_separator;
    break_line();
  }

  void write_list(const Values& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      separate(i == 0);
      write(items[i]);
    }
    --depth_;
    break_line();
    out_ += ']';
  }

  void write_dict(const DictData& dict) {
    if (dict.items.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<std::pair<std::string, const Value*>> members;
    for (const auto& [key, value] : dict.items) {
      members.emplace_back(key.text() != nullptr ? *key.text() : scalar(key), &value);
    }
    if (style_.sorted_keys) {
      std::stable_sort(members.begin(), members.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    out_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      separate(i == 0);
      write_string(members[i].first);
      out_ += style_.key_separator;
      write(*members[i].second);
    }
    --depth_;
    break_line();
    out_ += '}';
  }

  void write_string(std::string_view text) {
    constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
    constexpr std::string_view kEscapes = "\"\\bfnrt";
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t escape = kPlain.find(text[at]);
      const CodePoint point = decode_valid(text.data() + at);
      if (escape != std::string_view::npos) {
        out_ += '\\';
        out_ += kEscapes[escape];
      } else if (point.value < 0x20 || (style_.ascii_only && point.value > 0x7E)) {
        write_escape(point.value);
      } else {
        out_ += text.substr(at, point.bytes);
      }
      at += point.bytes;
    }
    out_ += '"';
  }

  void write_escape(char32_t point) {
    const auto value = static_cast<std::uint32_t>(point);
    if (value >= 0x10000) {
      out_ += fmt::format("\\u{:04x}", 0xD800 + ((value - 0x10000) >> 10));
      out_ += fmt::format("\\u{:04x}", 0xDC00 + ((value - 0x10000) & 0x3FF));
    } else {
      out_ += fmt::format("\\u{:04x}", value);
    }
  }

  const JsonStyle& style_;
  std::string out_;
  int depth_ = 0;
};

/// What JSON writes without brackets, and what may be a key.
bool is_plain(const Value& value) {
  return value.text() != nullptr || value.get<None>() != nullptr || value.get<bool>() != nullptr ||
         value.get<double>() != nullptr || value.get<std::int64_t>() != nullptr;
}

}  // namespace

std::optional<std::string_view> find_type_without_json(const Value& value) {
  std::optional<std::string_view> found;
  if (const DictData* dict = value.dict()) {
    for (const auto& [key, item] : dict->items) {
      if (!found && !is_plain(key)) found = type_name(key);
      if (!found) found = find_type_without_json(item);
    }
    return found;
  }
  if (const Values* items = value.items()) {
    for (const Value& item : *items) {
      if (!found) found = find_type_without_json(item);
    }
    return found;
  }
  return is_plain(value) ? std::nullopt : std::optional(type_name(value));
}

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonTextWriter writer(style);
  writer.write(value);
  return writer.take();
}

}  // namespace parhelion::text::jinja
