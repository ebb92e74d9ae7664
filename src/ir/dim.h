#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::ir {

/// What may differ in size between two instances of a program.
enum class Symbol : std::uint8_t {
  none,
  tokens,         ///< tokens of all rows or documents together
  rows,           ///< sequences that advance in one execution
  logit_rows,     ///< tokens whose logits are computed
  documents,      ///< packed documents
  pages_per_row,  ///< columns of a page table
  pages,          ///< pages of a cache; bound at load, all others when planning
};
inline constexpr std::int64_t kSymbolCount = 7;

/// The symbol's name as programs print it.
std::string_view name(Symbol symbol);

/// A number for each symbol; 0 = not given.
struct Capacities {
  std::array<std::int64_t, kSymbolCount> of = {};
  std::int64_t& operator[](Symbol symbol) { return of[static_cast<std::size_t>(symbol)]; }
  std::int64_t operator[](Symbol symbol) const { return of[static_cast<std::size_t>(symbol)]; }
  bool operator==(const Capacities&) const = default;
};

/// base + scale * symbol / divisor. A plain number has no symbol.
struct Dim {
  std::int64_t base = 0;
  std::int64_t scale = 0;
  std::int64_t divisor = 1;
  Symbol symbol = Symbol::none;

  constexpr Dim() = default;
  constexpr Dim(std::int64_t number) : base(number) {}
  constexpr Dim(Symbol of, std::int64_t times = 1, std::int64_t plus = 0)
      : base(plus), scale(times), symbol(of) {}

  bool is_number() const { return symbol == Symbol::none; }
  bool operator==(const Dim&) const = default;
};

using Shape = std::vector<Dim>;

/// The dim's number under `capacities`.
///
/// Errors: invalid if the symbol has no capacity or the division is not exact.
std::int64_t evaluate(const Dim& dim, const Capacities& capacities);

/// Every dim replaced by its number.
Shape evaluate(const Shape& shape, const Capacities& capacities);

/// The dim's number. Errors: bug if it is symbolic.
std::int64_t number(const Dim& dim);

/// The product of all dims, kept symbolic where exactly one is. Errors: invalid if two are symbolic
/// or it overflows.
Dim element_count(const Shape& shape);

std::string to_string(const Dim& dim);
std::string to_string(const Shape& shape);

}  // namespace parhelion::ir
