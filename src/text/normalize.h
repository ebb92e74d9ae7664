#pragma once

#include <string>
#include <string_view>

namespace parhelion::text {

/// `text` in Unicode normalisation form C: a view of `text` itself if it is in that form already,
/// or else of `storage`.
///
/// Needs valid UTF-8. Time grows as n log n even for long runs of combining marks.
/// Errors: exhausted if memory runs out.
std::string_view normalize_nfc(std::string_view text, std::string& storage);

}  // namespace parhelion::text
