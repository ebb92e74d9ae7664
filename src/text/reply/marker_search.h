#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace parhelion::text {

/// Where in a text a marker stands, or where one may begin that the text cuts.
struct MarkerMatch {
  std::size_t at = 0;      ///< the size of the text if there is none
  std::size_t marker = 0;  ///< its index
  bool is_whole = false;
};

/// Whether more text may follow.
enum class TextEnd : std::uint8_t { open, final };

/// The first marker in `text`; of those at one place the longest. With an open end, a longer marker
/// that the end cuts counts before a shorter one. Empty markers are passed over.
MarkerMatch find_marker(std::string_view text, std::span<const std::string> markers, TextEnd end);

}  // namespace parhelion::text
