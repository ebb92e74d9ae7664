#include "text/reply/marker_search.h"

namespace parhelion::text {
namespace {

/// The match at the beginning of `text`; `at` says 0 if there is one.
MarkerMatch match_here(std::string_view text, std::span<const std::string> markers, TextEnd end) {
  MarkerMatch match{.at = text.size()};
  for (std::size_t i = 0; i < markers.size(); ++i) {
    const std::string_view marker = markers[i];
    if (marker.empty()) continue;
    const bool is_cut = marker.size() > text.size() && marker.starts_with(text);
    if (is_cut && end == TextEnd::open) return {.at = 0, .marker = i};
    const bool is_longer = !match.is_whole || marker.size() > markers[match.marker].size();
    if (text.starts_with(marker) && is_longer) match = {.at = 0, .marker = i, .is_whole = true};
  }
  return match;
}

}  // namespace

MarkerMatch find_marker(std::string_view text, std::span<const std::string> markers, TextEnd end) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    MarkerMatch match = match_here(text.substr(at), markers, end);
    if (match.at != 0) continue;
    match.at = at;
    return match;
  }
  return {.at = text.size()};
}

}  // namespace parhelion::text
