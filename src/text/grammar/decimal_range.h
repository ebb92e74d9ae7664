#pragma once

#include "text/grammar/expression.h"

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace parhelion::text {

/// A number in decimal: no zeros at the front of the integer or at the end of the fraction.
struct Decimal {
  bool is_negative = false;
  std::string integer;   ///< empty for 0
  std::string fraction;  ///< the digits behind the point

  bool is_zero() const { return integer.empty() && fraction.empty(); }
  Decimal negated() const;
  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
};

/// Reads a JSON number; nothing if its exponent is beyond 400.
std::optional<Decimal> parse_decimal(std::string_view text);

struct Bound {
  Decimal value = {};
  bool is_open = false;  ///< the value itself is outside
};

struct DecimalRange {
  std::optional<Bound> lower;
  std::optional<Bound> upper;
};

/// Most digits of a number before the point and behind it.
inline constexpr std::int64_t kIntegerDigits = 18;
inline constexpr std::int64_t kFractionDigits = 17;

/// Whether a bound has no more digits than numbers may have.
bool fits_number_digits(const Decimal& value);

/// Integer literals of a range whose bounds fit.
ExpressionId add_integers(RuleBook& book, const DecimalRange& range);
/// Decimal literals of a range whose bounds fit; without bounds they may have an exponent.
ExpressionId add_numbers(RuleBook& book, const DecimalRange& range);

}  // namespace parhelion::text
