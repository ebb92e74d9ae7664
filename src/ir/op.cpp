#include "ir/op.h"

#include "base/error.h"
#include "ir/autodiff/gradient_context.h"

#include <type_traits>

namespace parhelion::ir {
namespace {

/// Calls `visit(field, member)` for each attribute of the op's struct.
template <class OpStruct, class Visit>
void for_each_field(OpStruct& op, Visit visit) {
  using Plain = std::remove_const_t<OpStruct>;
  std::apply([&](const auto&... each) { (visit(each.name, op.*(each.member)), ...); },
             fields(static_cast<const Plain*>(nullptr)));
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(const Shape& shape) { return to_string(shape); }
template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) { return std::string(name(value)); }

}  // namespace

Traits traits(const Op& op) {
  return std::visit([](const auto& each) { return traits(each); }, op);
}

std::vector<Factor> factors(const Op& op, Types inputs) {
  return std::visit([&](const auto& each) { return factors(each, inputs); }, op);
}

std::vector<TensorType> infer(const Op& op, Types inputs) {
  return std::visit([&](const auto& each) { return infer(each, inputs); }, op);
}

void gradient(const Op& op, GradientContext& context) {
  std::visit([&](const auto& each) { gradient(each, context); }, op);
}

Cost cost(const Op& op, Types inputs, Types outputs) {
  return std::visit([&](const auto& each) { return cost(each, inputs, outputs); }, op);
}

std::string to_string(const Op& op) {
  std::string attributes;
  std::visit(
      [&](const auto& each) {
        for_each_field(each, [&](std::string_view name, const auto& member) {
          attributes +=
              fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, text_of(member));
        });
      },
      op);
  return fmt::format("{}({})", traits(op).name, attributes);
}

Op evaluate(const Op& op, const Capacities& capacities) {
  Op result = op;
  std::visit(
      [&](auto& each) {
        for_each_field(each, [&](std::string_view, auto& member) {
          if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Shape>) {
            member = evaluate(member, capacities);
          }
        });
      },
      result);
  return result;
}

}  // namespace parhelion::ir
