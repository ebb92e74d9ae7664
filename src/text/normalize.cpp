#include "text/normalize.h"

#include "base/error.h"
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace parhelion::text {
namespace {

bool is_unstable(char32_t point) {
  return point >= 0x300 && (search_unicode_flags(point) & unicode::kUnstable) != 0;
}

/// The class by which marks are ordered; 0 for those younger than the tables of the reference.
int combining_class(utf8proc_int32_t point) {
  return is_unstable(static_cast<char32_t>(point)) ? utf8proc_get_property(point)->combining_class
                                                   : 0;
}

/// The next stretch that may not be in NFC: unstable characters and the one before them.
struct UnstableStretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

UnstableStretch find_stretch(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  bool found = false;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      if (found) break;
      begin = at++;
      continue;
    }
    const CodePoint point = decode_valid(text.data() + at);
    const bool is_stable = !is_unstable(point.value);
    if (is_stable && found) break;
    if (is_stable) begin = at;
    found = found || !is_stable;
    at += point.bytes;
  }
  return found ? UnstableStretch{begin, at} : UnstableStretch{text.size(), text.size()};
}

void append_decomposed(char32_t point, std::vector<utf8proc_int32_t>& out) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  utf8proc_int32_t parts[32];  // the longest canonical decomposition has 4
  int boundary_class = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), parts, 32,
                                             kOptions, &boundary_class);
  ensure(count >= 0 && count <= 32, ErrorKind::bug, "nfc: U+{:04X} decomposes to {} code points",
         static_cast<std::uint32_t>(point), count);
  out.insert(out.end(), parts, parts + count);
}

/// Sorts each run of combining marks by class, keeping the order of equals.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  const auto is_mark = [](auto point) { return combining_class(point) != 0; };
  auto first = std::find_if(points.begin(), points.end(), is_mark);
  while (first != points.end()) {
    const auto last = std::find_if_not(first, points.end(), is_mark);
    std::stable_sort(first, last,
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    first = std::find_if(last, points.end(), is_mark);
  }
}

void append_normalized(std::string_view stretch, std::vector<utf8proc_int32_t>& points,
                       std::string& out) {
  points.clear();
  for (std::size_t at = 0; at < stretch.size();) {
    const CodePoint point = decode_valid(stretch.data() + at);
    append_decomposed(point.value, points);
    at += point.bytes;
  }
  order_marks(points);
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto count = utf8proc_normalize_utf32(
      points.data(), static_cast<utf8proc_ssize_t>(points.size()), kOptions);
  ensure(count >= 0, ErrorKind::bug, "nfc: {}", utf8proc_errmsg(count));
  points.resize(static_cast<std::size_t>(count));
  for (const utf8proc_int32_t point : points) append_utf8(static_cast<char32_t>(point), out);
}

}  // namespace

std::string_view normalize_nfc(std::string_view text, std::string& storage) {
  UnstableStretch stretch = find_stretch(text, 0);
  if (stretch.begin == text.size()) return text;
  storage.clear();
  std::vector<utf8proc_int32_t> points;
  std::size_t copied = 0;
  while (stretch.begin != text.size()) {
    storage += text.substr(copied, stretch.begin - copied);
    append_normalized(text.substr(stretch.begin, stretch.end - stretch.begin), points, storage);
    copied = stretch.end;
    stretch = find_stretch(text, copied);
  }
  storage += text.substr(copied);
  return storage;
}

}  // namespace parhelion::text
