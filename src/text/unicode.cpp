#include "text/unicode.h"

#include <algorithm>
#include <iterator>

namespace parhelion::text {

std::uint8_t search_unicode_flags(char32_t code_point) {
  constexpr std::uint32_t kFlags = (1U << unicode::kFlagBits) - 1;
  const std::uint32_t last_of_run =
      static_cast<std::uint32_t>(code_point) << unicode::kFlagBits | kFlags;
  const auto* next =
      std::upper_bound(std::begin(kUnicodeRuns), std::end(kUnicodeRuns), last_of_run);
  return static_cast<std::uint8_t>(*(next - 1) & kFlags);
}

}  // namespace parhelion::text
