#include "text/jinja/python_format.h"

#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace parhelion::text::jinja {
namespace {

/// A field such as %-5.2f.
struct PercentField {
  std::string key;
  std::string flags;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char kind = 's';

  bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

/// Reads the fields of a format with % and puts values in their place.
class PercentFormat {
 public:
  PercentFormat(Renderer& renderer, std::string_view format, const Value& arguments)
      : renderer_(renderer), format_(format), arguments_(arguments) {
    const auto* list = arguments.get<ListRef>();
    is_tuple_ = list != nullptr && (*list)->kind == ListKind::tuple;
  }

  std::string write() {
    while (at_ < format_.size()) {
      const std::size_t next = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, next - at_);
      at_ = next;
      if (at_ < format_.size()) write_field();
    }
    const std::size_t given = is_tuple_ ? arguments_.items()->size() : 1;
    const bool may_remain = !is_tuple_ && arguments_.dict() != nullptr;
    if (!may_remain && used_ < given) {
      renderer_.fail_here("not all arguments converted during string formatting");
    }
    renderer_.charge(out_.size());
    return std::move(out_);
  }

 private:
  char peek() const {
    if (at_ >= format_.size()) renderer_.fail_here("incomplete format");
    return format_[at_];
  }

  std::int64_t read_count() {
    std::int64_t count = 0;
    while (peek() >= '0' && peek() <= '9') {
      count = std::min<std::int64_t>(count * 10 + (format_[at_++] - '0'), 1 << 20);
    }
    return count;
  }

  PercentField read_field() {
    PercentField field;
    ++at_;
    if (peek() == '(') {
      const std::size_t end = format_.find(')', at_);
      if (end == std::string_view::npos) renderer_.fail_here("incomplete format key");
      field.key = format_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    }
    while (std::string_view("-+ 0#").find(peek()) != std::string_view::npos) {
      field.flags += format_[at_++];
    }
    field.width = read_count();
    if (peek() == '.') {
      ++at_;
      field.precision = read_count();
    }
    field.kind = peek();
    ++at_;
    return field;
  }

  Value take(const PercentField& field) {
    if (!field.key.empty()) {
      if (arguments_.dict() == nullptr) renderer_.fail_here("format requires a mapping");
      const Value* value = arguments_.dict()->find(std::string_view(field.key));
      if (value == nullptr) renderer_.fail_here("key '" + field.key + "' is missing");
      return *value;
    }
    const std::size_t given = is_tuple_ ? arguments_.items()->size() : 1;
    if (used_ >= given) renderer_.fail_here("not enough arguments for format string");
    const std::size_t at = used_++;
    return is_tuple_ ? (*arguments_.items())[at] : arguments_;
  }

  /// An integer, cut from a float as %d does.
  std::int64_t integer(const PercentField& field, const Value& value) {
    if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
    if (const auto* whole = value.get<std::int64_t>()) return *whole;
    const auto* real = value.get<double>();
    const bool is_decimal = field.kind == 'd' || field.kind == 'i';
    const bool fits = real != nullptr && is_decimal && *real > -9.2e18 && *real < 9.2e18;
    if (fits) return static_cast<std::int64_t>(*real);
    renderer_.fail_here(
        fmt::format("%{} format: a real number is required, not {}", field.kind, type_name(value)));
  }

  double real(const Value& value) {
    if (const auto* number = value.get<double>()) return *number;
    if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
    if (const auto* whole = value.get<std::int64_t>()) return static_cast<double>(*whole);
    renderer_.fail_here(fmt::format("must be real number, not {}", type_name(value)));
  }

  std::string convert(const PercentField& field, const Value& value) {
    switch (field.kind) {
      case 's':
        return renderer_.text_of(value);
      case 'r':
        renderer_.charge_walk(value);
        return to_repr(value);
      case 'd':
      case 'i':
        return fmt::format("{}", integer(field, value));
      case 'x':
        return fmt::format("{:x}", integer(field, value));
      case 'X':
        return fmt::format("{:X}", integer(field, value));
      case 'f':
        return fmt::format("{:.{}f}", real(value),
                           std::min<std::int64_t>(field.precision < 0 ? 6 : field.precision, 300));
      default:
        renderer_.fail_unsupported(fmt::format("format field '%{}'", field.kind));
    }
  }

  void write_field() {
    const PercentField field = read_field();
    if (field.kind == '%') {
      out_ += '%';
      return;
    }
    if (field.has('#')) renderer_.fail_unsupported("format flag '#'");
    std::string text = convert(field, take(field));
    const bool is_text = field.kind == 's' || field.kind == 'r';
    if (is_text && field.precision >= 0) text = first_characters(text, field.precision);
    if (!is_text && field.kind != 'f' && field.precision >= 0) {
      renderer_.fail_unsupported("the precision of an integer field");
    }
    pad(field, is_text, std::move(text));
  }

  static std::string first_characters(const std::string& text, std::int64_t count) {
    std::string out;
    for (const std::string_view character : split_characters(text)) {
      if (count-- <= 0) break;
      out += character;
    }
    return out;
  }

  void pad(const PercentField& field, bool is_text, std::string text) {
    std::string sign;
    if (!is_text && text.starts_with('-')) {
      sign = "-";
      text.erase(0, 1);
    } else if (!is_text && (field.has('+') || field.has(' '))) {
      sign = field.has('+') ? "+" : " ";
    }
    const std::int64_t size = count_characters(text) + static_cast<std::int64_t>(sign.size());
    const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(field.width - size, 0));
    renderer_.charge(missing);
    const bool is_left = field.has('-');
    const bool has_zeros = field.has('0') && !is_left && !is_text;
    if (!is_left && !has_zeros) out_.append(missing, ' ');
    out_ += sign;
    if (has_zeros) out_.append(missing, '0');
    out_ += text;
    if (is_left) out_.append(missing, ' ');
  }

  Renderer& renderer_;
  std::string_view format_;
  const Value& arguments_;
  bool is_tuple_ = false;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  std::string out_;
};

/// The argument that a field in braces names: by its name, its number, or in turn if it has
/// neither.
Value brace_argument(Renderer& renderer, std::string_view name, std::size_t& next,
                     const Arguments& arguments) {
  std::size_t index = next;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, index);
  const bool is_number = !name.empty() && error == std::errc() && stop == end;
  if (name.empty()) ++next;
  if (name.empty() || is_number) {
    if (index < arguments.positional.size()) return arguments.positional[index];
    renderer.fail_here(
        fmt::format("Replacement index {} out of range for positional args tuple", index));
  }
  for (const auto& [known, value] : arguments.named) {
    if (known == name) return value;
  }
  renderer.fail_here(fmt::format("'{}'", name));
}

}  // namespace

std::string format_percent(Renderer& renderer, std::string_view format, const Value& arguments) {
  return PercentFormat(renderer, format, arguments).write();
}

std::string format_braces(Renderer& renderer, std::string_view format, const Arguments& arguments) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    const bool is_double = at + 1 < format.size() && format[at + 1] == c;
    if ((c != '{' && c != '}') || is_double) {
      if (c == '{' || c == '}') ++at;
      out += c;
      continue;
    }
    if (c == '}') renderer.fail_here("Single '}' encountered in format string");
    const std::size_t end = format.find('}', at);
    if (end == std::string_view::npos) renderer.fail_here("expected '}' before end of string");
    const std::string_view name = format.substr(at + 1, end - at - 1);
    if (name.find_first_of(":!.[{") != std::string_view::npos) {
      renderer.fail_unsupported(fmt::format("format field '{{{}}}'", name));
    }
    const std::string text = renderer.text_of(brace_argument(renderer, name, next, arguments));
    renderer.charge(text.size());
    out += text;
    at = end;
  }
  return out;
}

}  // namespace parhelion::text::jinja
