#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace parhelion {

std::int64_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::int64_t> row(b.size() + 1);  // distances of a's prefix to every prefix of b
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
  for (const char letter : a) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t replaced = diagonal + (letter == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> names) {
  std::string_view best;
  std::int64_t best_distance = INT64_MAX;
  for (const std::string_view name : names) {
    const auto longer = static_cast<std::int64_t>(std::max(text.size(), name.size()));
    const std::int64_t distance = edit_distance(text, name);
    if (distance > std::max<std::int64_t>(1, longer / 3) || distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace parhelion
