#include "text/jinja/filters.h"
#include "text/jinja/python_format.h"
#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace parhelion::text::jinja {
namespace {

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
  const auto* number = value.get<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<double> as_number(const Value& value) {
  if (const auto* number = value.get<double>()) return *number;
  const auto integer = as_integer(value);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

std::string_view operator_symbol(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::add:
      return "+";
    case BinaryOperator::subtract:
      return "-";
    case BinaryOperator::multiply:
      return "*";
    case BinaryOperator::divide:
      return "/";
    case BinaryOperator::floor_divide:
      return "//";
    case BinaryOperator::modulo:
      return "%";
    case BinaryOperator::power:
      return "**";
    case BinaryOperator::concatenate:
      return "~";
    case BinaryOperator::logical_and:
      return "and";
    case BinaryOperator::logical_or:
      return "or";
  }
  return "?";
}

std::int64_t checked_power(Renderer& renderer, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    renderer.charge(0);
    if (__builtin_mul_overflow(result, base, &result))
      renderer.fail_unsupported("an integer of more than 64 bits");
  }
  return result;
}

Value integer_operation(Renderer& renderer, BinaryOperator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (op == BinaryOperator::add) overflows = __builtin_add_overflow(a, b, &result);
  if (op == BinaryOperator::subtract) overflows = __builtin_sub_overflow(a, b, &result);
  if (op == BinaryOperator::multiply) overflows = __builtin_mul_overflow(a, b, &result);
  if (op == BinaryOperator::power) return checked_power(renderer, a, b);
  if (op == BinaryOperator::floor_divide || op == BinaryOperator::modulo) {
    if (b == 0) renderer.fail_here("integer division or modulo by zero");
    overflows = a == std::numeric_limits<std::int64_t>::min() && b == -1;
    const std::int64_t remainder = overflows ? 0 : a % b;
    const bool rounds_down = remainder != 0 && (remainder < 0) != (b < 0);
    result = overflows                      ? 0
             : op == BinaryOperator::modulo ? remainder + (rounds_down ? b : 0)
                                            : a / b - (rounds_down ? 1 : 0);
  }
  if (overflows) renderer.fail_unsupported("an integer of more than 64 bits");
  return result;
}

Value float_operation(Renderer& renderer, BinaryOperator op, double a, double b) {
  const bool divides = op == BinaryOperator::divide || op == BinaryOperator::floor_divide ||
                       op == BinaryOperator::modulo;
  if (divides && b == 0) renderer.fail_here("division by zero");
  if (op == BinaryOperator::add) return a + b;
  if (op == BinaryOperator::subtract) return a - b;
  if (op == BinaryOperator::multiply) return a * b;
  if (op == BinaryOperator::divide) return a / b;
  if (op == BinaryOperator::power) return std::pow(a, b);
  const double remainder = std::fmod(a, b);
  const bool rounds_down = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == BinaryOperator::modulo) return rounds_down ? remainder + b : remainder;
  return std::floor(a / b);
}

/// Text or a list, repeated.
std::optional<Value> repeat(Renderer& renderer, const Value& value, std::int64_t count) {
  count = std::max<std::int64_t>(count, 0);
  const std::string* text = value.text();
  const Values* items = value.items();
  const std::size_t size = text != nullptr    ? text->size()
                           : items != nullptr ? items->size() * 32
                                              : 0;
  const std::size_t most = std::size_t{1} << 40;
  if (size != 0 && static_cast<std::size_t>(count) > most / size) renderer.charge(most);
  renderer.charge(size * static_cast<std::size_t>(size == 0 ? 0 : count));
  if (text != nullptr) {
    std::string out;
    for (std::int64_t i = 0; i < count && size != 0; ++i) out += *text;
    return made_text(renderer, std::move(out), value);
  }
  if (items == nullptr) return std::nullopt;
  Values out;
  for (std::int64_t i = 0; i < count && size != 0; ++i)
    out.insert(out.end(), items->begin(), items->end());
  return make_sequence(std::move(out), (*value.get<ListRef>())->kind);
}

/// The text of one side of +, escaped if the other side alone is marked as HTML.
std::string side_text(const Value& side, const Value& other) {
  const bool is_escaped = side.get<Markup>() == nullptr && other.get<Markup>() != nullptr;
  return is_escaped ? escape_html(*side.text()) : *side.text();
}

std::optional<Value> join_alike(Renderer& renderer, const Value& a, const Value& b) {
  if (a.text() != nullptr && b.text() != nullptr) {
    renderer.charge(a.text()->size() + b.text()->size());
    std::string text = side_text(a, b) + side_text(b, a);
    return made_text(renderer, std::move(text), a.get<Markup>() != nullptr ? a : b);
  }
  const Values* left = a.items();
  const Values* right = b.items();
  if (left == nullptr || right == nullptr || type_name(a) != type_name(b)) return std::nullopt;
  Values items = *left;
  items.insert(items.end(), right->begin(), right->end());
  renderer.charge(items.size() * 32);
  return make_sequence(std::move(items), (*a.get<ListRef>())->kind);
}

void refuse_undefined(Renderer& renderer, const Value& value) {
  if (const auto* undefined = value.get<Undefined>()) renderer.fail_here(undefined->what);
}

}  // namespace

Value apply_sign(Renderer& renderer, UnaryOperator op, const Value& value) {
  refuse_undefined(renderer, value);
  if (!as_number(value)) {
    renderer.fail_here(fmt::format("bad operand type for a sign: '{}'", type_name(value)));
  }
  if (const auto* number = value.get<double>())
    return op == UnaryOperator::negate ? -*number : *number;
  if (op == UnaryOperator::plus) return *as_integer(value);
  return integer_operation(renderer, BinaryOperator::subtract, 0, *as_integer(value));
}

Value apply_binary(Renderer& renderer, BinaryOperator op, const Value& a, const Value& b) {
  if (op == BinaryOperator::concatenate) {
    std::string text = renderer.text_of(a) + renderer.text_of(b);
    renderer.charge(text.size());
    return text;
  }
  refuse_undefined(renderer, a);
  if (op != BinaryOperator::modulo || a.text() == nullptr) refuse_undefined(renderer, b);
  const auto left = as_integer(a);
  const auto right = as_integer(b);
  const bool is_exact = op != BinaryOperator::divide && !(op == BinaryOperator::power && right < 0);
  if (left && right && is_exact) return integer_operation(renderer, op, *left, *right);
  if (as_number(a) && as_number(b))
    return float_operation(renderer, op, *as_number(a), *as_number(b));
  if (op == BinaryOperator::modulo && a.text() != nullptr) {
    if (a.get<Markup>() != nullptr) renderer.fail_unsupported("'%' on marked text");
    return format_percent(renderer, *a.text(), b);
  }
  std::optional<Value> result;
  if (op == BinaryOperator::add) result = join_alike(renderer, a, b);
  if (op == BinaryOperator::multiply && right) result = repeat(renderer, a, *right);
  if (op == BinaryOperator::multiply && left) result = repeat(renderer, b, *left);
  if (result) return *result;
  if (op == BinaryOperator::add && (a.text() != nullptr || a.items() != nullptr)) {
    renderer.fail_here(
        fmt::format("can only concatenate {0} (not \"{1}\") to {0}", type_name(a), type_name(b)));
  }
  renderer.fail_here(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'",
                                 operator_symbol(op), type_name(a), type_name(b)));
}

bool is_less(Renderer& renderer, const Value& a, const Value& b) {
  renderer.charge(0);
  refuse_undefined(renderer, a);
  refuse_undefined(renderer, b);
  if (as_integer(a) && as_integer(b)) return *as_integer(a) < *as_integer(b);
  if (as_number(a) && as_number(b)) return *as_number(a) < *as_number(b);
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() < *b.text();
  if (a.items() != nullptr && b.items() != nullptr) {
    return std::lexicographical_compare(a.items()->begin(), a.items()->end(), b.items()->begin(),
                                        b.items()->end(), [&](const Value& x, const Value& y) {
                                          return !renderer.is_equal(x, y) &&
                                                 is_less(renderer, x, y);
                                        });
  }
  renderer.fail_here(fmt::format("'<' not supported between instances of '{}' and '{}'",
                                 type_name(a), type_name(b)));
}

bool is_contained(Renderer& renderer, const Value& item, const Value& container) {
  if (const std::string* text = container.text()) {
    if (item.text() == nullptr) {
      renderer.fail_here(
          fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    }
    renderer.charge(text->size());
    return text->find(*item.text()) != std::string::npos;
  }
  if (const DictData* dict = container.dict()) return dict->find(item) != nullptr;
  const bool is_iterable = container.get<ListRef>() != nullptr || container.is_undefined();
  if (!is_iterable) {
    renderer.fail_here(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  for (const Value& known : iterate(renderer, container)) {
    if (renderer.is_equal(known, item)) return true;
  }
  return false;
}

}  // namespace parhelion::text::jinja
