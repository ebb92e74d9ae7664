#include "text/grammar/decimal_range.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace parhelion::text {
namespace {

std::strong_ordering compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.integer.size() != b.integer.size()) return a.integer.size() <=> b.integer.size();
  if (a.integer != b.integer) return a.integer <=> b.integer;
  return a.fraction <=> b.fraction;
}

/// Moves the point by `exponent` places to the right.
void shift_point(Decimal& value, int exponent) {
  const auto places = static_cast<std::size_t>(exponent < 0 ? -exponent : exponent);
  std::string& from = exponent < 0 ? value.integer : value.fraction;
  if (exponent < 0) {
    from.insert(0, places > from.size() ? places - from.size() : 0, '0');
    value.fraction.insert(0, from.substr(from.size() - places));
    from.resize(from.size() - places);
  } else {
    from.append(places > from.size() ? places - from.size() : 0, '0');
    value.integer += from.substr(0, places);
    from.erase(0, places);
  }
}

void strip_zeros(Decimal& value) {
  value.integer.erase(0, std::min(value.integer.find_first_not_of('0'), value.integer.size()));
  value.fraction.resize(value.fraction.find_last_not_of('0') + 1);
  if (value.is_zero()) value.is_negative = false;
}

/// Adds one to digits in decimal.
std::string next_integer(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return "1" + digits;
}

/// Takes one from digits that are not 0.
std::string previous_integer(std::string digits) {
  std::size_t i = digits.size() - 1;
  for (; digits[i] == '0'; --i) digits[i] = '9';
  --digits[i];
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool is_below(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

/// A range of numbers that are not negative.
struct MagnitudeRange {
  Decimal lower = {};
  bool is_open = false;
  std::optional<Bound> upper;
};

/// Builds literals of ranges digit by digit. Integers are digits without zeros at the front; 0 is
/// the empty text.
class RangeBuilder {
 public:
  explicit RangeBuilder(RuleBook& book) : book_(book) {}

  ExpressionId integers(const DecimalRange& range) {
    Choice choice;
    if (const auto below = negative_part(range)) {
      const std::string first = whole_lower(*below);
      choice.parts.push_back(sequence(
          {book_.bytes("-"), whole({first.empty() ? "1" : first}, whole_upper(below->upper))}));
    }
    if (const auto above = positive_part(range)) {
      choice.parts.push_back(whole(whole_lower(*above), whole_upper(above->upper)));
    }
    return book_.add(std::move(choice));
  }

  ExpressionId numbers(const DecimalRange& range) {
    Choice choice;
    if (const auto below = negative_part(range)) {
      choice.parts.push_back(sequence({book_.bytes("-"), magnitudes(*below)}));
    }
    if (const auto above = positive_part(range)) choice.parts.push_back(magnitudes(*above));
    return book_.add(std::move(choice));
  }

  ExpressionId free_numbers() {
    const ExpressionId fraction = sequence({book_.bytes("."), digits(1, kFractionDigits)});
    const ExpressionId exponent =
        sequence({points("eE"), book_.optional(points("+-")), digits(1, 2)});
    return sequence({book_.optional(book_.bytes("-")), whole("", most_digits()),
                     book_.optional(fraction), book_.optional(exponent)});
  }

 private:
  /// An upper end that no digits reach.
  static std::optional<std::string> no_integers() { return std::nullopt; }
  static std::string most_digits() { return std::string(kIntegerDigits, '9'); }

  ExpressionId sequence(std::vector<ExpressionId> parts) {
    return book_.add(Sequence{std::move(parts)});
  }
  ExpressionId points(std::string_view characters) {
    CodePointSet set;
    for (const char c : characters) set.add(static_cast<char32_t>(c), static_cast<char32_t>(c));
    return book_.add(Points{std::move(set), Spelling::utf8});
  }
  ExpressionId digit(char first, char last) {
    if (first > last) return book_.nothing();
    return book_.add(
        Points{{static_cast<char32_t>(first), static_cast<char32_t>(last)}, Spelling::utf8});
  }
  ExpressionId digits(std::int64_t min, std::int64_t max) {
    return book_.add(Repeat{digit('0', '9'), min, max});
  }

  static std::optional<MagnitudeRange> positive_part(const DecimalRange& range) {
    const std::optional<Bound>& upper = range.upper;
    if (upper && upper->value.is_negative) return std::nullopt;
    MagnitudeRange part{.upper = upper};
    if (range.lower && !range.lower->value.is_negative) {
      part.lower = range.lower->value;
      part.is_open = range.lower->is_open;
    }
    return part;
  }

  static std::optional<MagnitudeRange> negative_part(const DecimalRange& range) {
    if (range.lower && !range.lower->value.is_negative) return std::nullopt;
    DecimalRange mirrored;
    if (range.lower) mirrored.upper = {range.lower->value.negated(), range.lower->is_open};
    if (range.upper) mirrored.lower = {range.upper->value.negated(), range.upper->is_open};
    return positive_part(mirrored);
  }

  /// The least integer of a range.
  static std::string whole_lower(const MagnitudeRange& range) {
    const bool is_inside = range.lower.fraction.empty() && !range.is_open;
    return is_inside ? range.lower.integer : next_integer(range.lower.integer);
  }

  /// The greatest integer below an upper bound, or nothing.
  static std::optional<std::string> whole_upper(const std::optional<Bound>& upper) {
    if (!upper) return most_digits();
    if (!upper->is_open || !upper->value.fraction.empty()) return upper->value.integer;
    if (upper->value.integer.empty()) return no_integers();
    return previous_integer(upper->value.integer);
  }

  /// Integers from `first` to `last`.
  ExpressionId whole(const std::string& first, const std::optional<std::string>& last) {
    Choice choice;
    if (!last || is_below(*last, first)) return book_.nothing();
    if (first.empty()) choice.parts.push_back(book_.bytes("0"));
    const std::size_t least = std::max<std::size_t>(first.size(), 1);
    for (std::size_t size = least; size <= last->size(); ++size) {
      const std::string low = size == first.size() ? first : "1" + std::string(size - 1, '0');
      const std::string high = size == last->size() ? *last : std::string(size, '9');
      choice.parts.push_back(between(low, high));
    }
    return book_.add(std::move(choice));
  }

  /// Digits as many as `low` has, from `low` to `high`.
  ExpressionId between(std::string_view low, std::string_view high) {
    const auto rest = static_cast<std::int64_t>(low.size());
    const bool is_any =
        low.find_first_not_of('0') == low.npos && high.find_first_not_of('9') == high.npos;
    if (is_any) return digits(rest, rest);
    if (low[0] == high[0]) {
      return sequence({digit(low[0], low[0]), between(low.substr(1), high.substr(1))});
    }
    const std::string zeros(low.size() - 1, '0');
    const std::string nines(low.size() - 1, '9');
    return book_.add(Choice{{
        sequence({digit(low[0], low[0]), between(low.substr(1), nines)}),
        sequence({digit(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)),
                  digits(rest - 1, rest - 1)}),
        sequence({digit(high[0], high[0]), between(zeros, high.substr(1))}),
    }});
  }

  ExpressionId magnitudes(const MagnitudeRange& range) {
    const std::string& low = range.lower.integer;
    const std::string high = range.upper ? range.upper->value.integer : most_digits();
    if (is_below(high, low)) return book_.nothing();
    const std::optional<std::string> before =
        range.upper ? (high.empty() ? no_integers() : previous_integer(high)) : most_digits();
    Choice choice;
    choice.parts.push_back(sequence({whole(next_integer(low), before), free_fraction()}));
    const bool is_one = range.upper && low == high;
    choice.parts.push_back(sequence({one_integer(low), fraction({&range, true, is_one})}));
    if (range.upper && !is_one) {
      choice.parts.push_back(sequence({one_integer(high), fraction({&range, false, true})}));
    }
    return book_.add(std::move(choice));
  }

  ExpressionId one_integer(const std::string& digits) {
    return book_.bytes(digits.empty() ? "0" : digits);
  }

  ExpressionId free_fraction() {
    return book_.optional(sequence({book_.bytes("."), digits(1, kFractionDigits)}));
  }

  /// Where the digits behind the point stand: whether those before are equal to those of the lower
  /// and of the upper bound.
  struct Fraction {
    const MagnitudeRange* range = nullptr;
    bool is_low = false;
    bool is_high = false;
    std::size_t at = 0;

    std::string_view rest(const std::string& digits) const {
      return std::string_view(digits).substr(std::min(at, digits.size()));
    }
    char low_digit() const {
      const std::string_view digits = rest(range->lower.fraction);
      return !is_low || digits.empty() ? '0' : digits[0];
    }
    char high_digit() const {
      if (!is_high) return '9';
      const std::string_view digits = rest(range->upper->value.fraction);
      return digits.empty() ? '0' : digits[0];
    }
    /// Whether the number may end here.
    bool may_end() const {
      const bool is_low_done = rest(range->lower.fraction).empty() && !range->is_open;
      if (is_low && !is_low_done) return false;
      return !is_high || !range->upper->is_open || !rest(range->upper->value.fraction).empty();
    }
  };

  /// What follows the integer: nothing, or a point and digits.
  ExpressionId fraction(const Fraction& place) {
    const ExpressionId part = sequence({book_.bytes("."), fraction_digits(place)});
    return place.may_end() ? book_.optional(part) : part;
  }

  ExpressionId fraction_digits(const Fraction& place) {
    Choice choice;
    const char low = place.low_digit();
    const char high = place.high_digit();
    for (char next = low; next <= high; ++next) {
      Fraction behind = place;
      behind.is_low = place.is_low && next == low;
      behind.is_high = place.is_high && next == high;
      ++behind.at;
      choice.parts.push_back(sequence({digit(next, next), fraction_end(behind)}));
    }
    return book_.add(std::move(choice));
  }

  ExpressionId fraction_end(const Fraction& place) {
    const auto left = kFractionDigits - static_cast<std::int64_t>(place.at);
    if (!place.is_low && !place.is_high) return digits(0, left);
    if (left == 0) return place.may_end() ? book_.bytes("") : book_.nothing();
    const ExpressionId more = fraction_digits(place);
    return place.may_end() ? book_.optional(more) : more;
  }

  RuleBook& book_;
};

}  // namespace

Decimal Decimal::negated() const {
  Decimal result = *this;
  result.is_negative = !is_negative && !is_zero();
  return result;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (is_negative != other.is_negative) {
    return is_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return is_negative ? compare_magnitudes(other, *this) : compare_magnitudes(*this, other);
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  constexpr int kMaxExponent = 400;
  Decimal value = {};
  value.is_negative = text.starts_with('-');
  if (value.is_negative) text.remove_prefix(1);
  const std::size_t mantissa_end = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), mantissa_end);
  value.integer = text.substr(0, point);
  if (point < mantissa_end) value.fraction = text.substr(point + 1, mantissa_end - point - 1);
  int exponent = 0;
  if (mantissa_end < text.size()) {
    std::string_view digits = text.substr(mantissa_end + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec != std::errc()) return std::nullopt;
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  shift_point(value, exponent);
  strip_zeros(value);
  return value;
}

bool fits_number_digits(const Decimal& value) {
  return static_cast<std::int64_t>(value.integer.size()) <= kIntegerDigits &&
         static_cast<std::int64_t>(value.fraction.size()) <= kFractionDigits;
}

ExpressionId add_integers(RuleBook& book, const DecimalRange& range) {
  return RangeBuilder(book).integers(range);
}

ExpressionId add_numbers(RuleBook& book, const DecimalRange& range) {
  if (!range.lower && !range.upper) return RangeBuilder(book).free_numbers();
  return RangeBuilder(book).numbers(range);
}

}  // namespace parhelion::text
