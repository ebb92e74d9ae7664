#pragma once

#include "text/grammar/code_point_set.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace parhelion::text {

/// How a character stands in the constrained text.
enum class Spelling : std::uint8_t {
  utf8,      ///< as itself
  json,      ///< inside a JSON string: as itself, or where JSON forbids that, escaped in one way
  json_any,  ///< inside a JSON string, in every way that JSON has
};

struct ByteRange {
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  auto operator<=>(const ByteRange&) const = default;
};

/// The bytes that may stand at one place.
using ByteClass = std::vector<ByteRange>;
/// A text by the bytes of each place.
using ByteWord = std::vector<ByteClass>;

/// The byte texts of the characters of `set`: together exactly these.
///
/// Source: The Unicode Standard, table 3-7; RFC 8259, section 7.
std::vector<ByteWord> spell(const CodePointSet& set, Spelling spelling);

}  // namespace parhelion::text
