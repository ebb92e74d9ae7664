#include "ir/dim.h"

#include "base/error.h"

namespace parhelion::ir {
namespace {

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  ensure(!__builtin_mul_overflow(a, b, &product), ErrorKind::invalid,
         "dim: {} times {} does not fit in 64 bits", a, b);
  return product;
}

}  // namespace

std::string_view name(Symbol symbol) {
  constexpr std::array<std::string_view, kSymbolCount> kNames = {
      "none", "tokens", "rows", "logit_rows", "documents", "pages_per_row", "pages"};
  return kNames.at(static_cast<std::size_t>(symbol));
}

std::int64_t evaluate(const Dim& dim, const Capacities& capacities) {
  if (dim.is_number()) return dim.base;
  const std::int64_t capacity = capacities[dim.symbol];
  ensure(capacity > 0, ErrorKind::invalid, "capacities: {} is {}, expected a positive number",
         name(dim.symbol), capacity);
  const std::int64_t scaled = checked_product(dim.scale, capacity);
  ensure(scaled % dim.divisor == 0, ErrorKind::invalid,
         "capacities: {} is {}, but {} needs a multiple", name(dim.symbol), capacity,
         to_string(dim));
  return dim.base + scaled / dim.divisor;
}

Shape evaluate(const Shape& shape, const Capacities& capacities) {
  Shape result;
  result.reserve(shape.size());
  for (const Dim& dim : shape) result.emplace_back(evaluate(dim, capacities));
  return result;
}

std::int64_t number(const Dim& dim) {
  ensure(dim.is_number(), ErrorKind::bug, "dim: {} is symbolic, expected a number", to_string(dim));
  return dim.base;
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) {
    ensure(count.is_number() || dim.is_number(), ErrorKind::invalid,
           "shape {}: has two symbolic dims, expected at most one", to_string(shape));
    const Dim symbolic = count.is_number() ? dim : count;
    const std::int64_t factor = count.is_number() ? count.base : dim.base;
    count = symbolic;
    count.base = checked_product(symbolic.base, factor);
    count.scale = checked_product(symbolic.scale, factor);
  }
  return count;
}

std::string to_string(const Dim& dim) {
  if (dim.is_number()) return fmt::format("{}", dim.base);
  std::string text(name(dim.symbol));
  if (dim.scale != 1) text = fmt::format("{}*{}", dim.scale, text);
  if (dim.divisor != 1) text += fmt::format("/{}", dim.divisor);
  if (dim.base != 0) text += fmt::format("{:+}", dim.base);
  return text;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace parhelion::ir
