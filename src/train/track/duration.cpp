#include "train/track/duration.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace parhelion::train {

std::string duration_text(std::chrono::duration<double> duration) {
  const double exact = duration.count();
  if (!(exact >= 0 && exact < 1e15)) return "?";
  if (exact < 0.9995) return fmt::format("{:.0f}ms", exact * 1e3);
  if (exact < 9.95) return fmt::format("{:.1f}s", exact);
  const auto seconds = static_cast<std::int64_t>(std::llround(exact));
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (minutes == 0) return fmt::format("{}s", seconds);
  if (hours == 0) return fmt::format("{}m{:02}s", minutes, seconds % 60);
  if (hours < 24) return fmt::format("{}h{:02}m", hours, minutes % 60);
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

}  // namespace parhelion::train
