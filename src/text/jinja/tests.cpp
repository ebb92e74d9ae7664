#include "text/jinja/tests.h"

#include "text/jinja/python_text.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace parhelion::text::jinja {
namespace {

struct TestCall {
  Renderer& renderer;
  const Value& value;
  const Values& arguments;

  const Value& argument() const {
    if (arguments.empty()) renderer.fail_here("a test lacks its argument");
    return arguments.front();
  }
  std::int64_t integer() const { return integer_of(value); }
  std::int64_t integer_of(const Value& number) const {
    if (const auto* flag = number.get<bool>()) return *flag ? 1 : 0;
    if (const auto* whole = number.get<std::int64_t>()) return *whole;
    renderer.fail_here(fmt::format("a test needs an integer, not {}", type_name(number)));
  }
};

/// A test by its name.
struct Test {
  std::string_view name;
  bool (*passes)(const TestCall& call) = nullptr;
};

bool is_sequence(const Value& value) {
  return value.text() != nullptr || value.items() != nullptr || value.dict() != nullptr ||
         value.is_undefined();
}

bool is_divisible(const TestCall& call) {
  const std::int64_t divisor = call.integer_of(call.argument());
  if (divisor == 0) call.renderer.fail_here("integer division or modulo by zero");
  return divisor == -1 || call.integer() % divisor == 0;
}

bool is_number(const Value& value) {
  return value.get<bool>() != nullptr || value.get<std::int64_t>() != nullptr ||
         value.get<double>() != nullptr;
}

bool is_equal_test(const TestCall& call) {
  return call.renderer.is_equal(call.value, call.argument());
}
bool is_unequal_test(const TestCall& call) {
  return !call.renderer.is_equal(call.value, call.argument());
}
bool is_less_test(const TestCall& call) {
  return is_less(call.renderer, call.value, call.argument());
}
bool is_greater_test(const TestCall& call) {
  return is_less(call.renderer, call.argument(), call.value);
}
bool is_at_most_test(const TestCall& call) { return !is_greater_test(call); }
bool is_at_least_test(const TestCall& call) { return !is_less_test(call); }

bool is_same(const TestCall& call) {
  const Value& other = call.argument();
  if (const auto* list = call.value.get<ListRef>()) {
    return other.get<ListRef>() != nullptr && *list == *other.get<ListRef>();
  }
  if (const auto* dict = call.value.get<DictRef>()) {
    return other.get<DictRef>() != nullptr && *dict == *other.get<DictRef>();
  }
  return type_name(call.value) == type_name(other) && call.renderer.is_equal(call.value, other);
}

constexpr Test kTests[] = {
    {"defined", [](const TestCall& call) { return !call.value.is_undefined(); }},
    {"undefined", [](const TestCall& call) { return call.value.is_undefined(); }},
    {"none", [](const TestCall& call) { return call.value.get<None>() != nullptr; }},
    {"string", [](const TestCall& call) { return call.value.text() != nullptr; }},
    {"boolean", [](const TestCall& call) { return call.value.get<bool>() != nullptr; }},
    {"integer", [](const TestCall& call) { return call.value.get<std::int64_t>() != nullptr; }},
    {"float", [](const TestCall& call) { return call.value.get<double>() != nullptr; }},
    {"number", [](const TestCall& call) { return is_number(call.value); }},
    {"mapping", [](const TestCall& call) { return call.value.dict() != nullptr; }},
    {"sequence", [](const TestCall& call) { return is_sequence(call.value); }},
    {"iterable",
     [](const TestCall& call) {
       return is_sequence(call.value) || call.value.get<ListRef>() != nullptr;
     }},
    {"callable", [](const TestCall& call) { return call.value.get<FunctionRef>() != nullptr; }},
    {"true",
     [](const TestCall& call) { return call.value.get<bool>() != nullptr && is_true(call.value); }},
    {"false",
     [](const TestCall& call) {
       return call.value.get<bool>() != nullptr && !is_true(call.value);
     }},
    {"sameas", is_same},
    {"lower",
     [](const TestCall& call) {
       const std::string text = call.renderer.text_of(call.value);
       return text == to_lower(text) && text != to_upper(text);
     }},
    {"upper",
     [](const TestCall& call) {
       const std::string text = call.renderer.text_of(call.value);
       return text == to_upper(text) && text != to_lower(text);
     }},
    {"escaped", [](const TestCall& call) { return call.value.get<Markup>() != nullptr; }},
    {"odd", [](const TestCall& call) { return call.integer() % 2 != 0; }},
    {"even", [](const TestCall& call) { return call.integer() % 2 == 0; }},
    {"divisibleby", is_divisible},
    {"in",
     [](const TestCall& call) { return is_contained(call.renderer, call.value, call.argument()); }},
    {"eq", is_equal_test},
    {"equalto", is_equal_test},
    {"ne", is_unequal_test},
    {"lt", is_less_test},
    {"lessthan", is_less_test},
    {"le", is_at_most_test},
    {"gt", is_greater_test},
    {"greaterthan", is_greater_test},
    {"ge", is_at_least_test},
};

const Test* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace

bool is_known_test(std::string_view name) { return find_test(name) != nullptr; }

bool passes_test(Renderer& renderer, std::string_view name, const Value& value,
                 const Values& arguments) {
  const Test* test = find_test(name);
  if (test == nullptr) renderer.fail_unsupported(fmt::format("test '{}'", name));
  return test->passes({renderer, value, arguments});
}

}  // namespace parhelion::text::jinja
