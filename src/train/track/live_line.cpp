#include "train/track/live_line.h"

#include "train/track/duration.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace parhelion::train {
namespace {

/// A part of the line; those of a lower rank stay longer.
struct LinePart {
  int rank = 0;
  std::string text;
};

std::string memory_text(std::int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1023.5 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, size < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string rate_text(double tokens_per_second) {
  return fmt::format("{:.{}f} tok/s", tokens_per_second, tokens_per_second < 9.95 ? 1 : 0);
}

std::vector<LinePart> line_parts(const Progress& progress) {
  std::vector<LinePart> parts = {
      {0, fmt::format("step {}/{}", progress.step, progress.steps)},
      {0, fmt::format("loss {:.3f}", progress.loss)},
      {2, rate_text(progress.tokens_per_second)},
  };
  if (progress.matmul_share) {
    parts.push_back({3, fmt::format("{:.0f} % of matmul peak", *progress.matmul_share * 100)});
  }
  parts.push_back({4, memory_text(progress.memory_bytes)});
  if (progress.remaining) parts.push_back({1, "ETA " + duration_text(*progress.remaining)});
  return parts;
}

std::string joined_parts(const std::vector<LinePart>& parts, int highest_rank) {
  std::string line;
  for (const LinePart& part : parts) {
    if (part.rank <= highest_rank) line += (line.empty() ? "" : "  ") + part.text;
  }
  return line;
}

}  // namespace

std::string live_line(const Progress& progress, std::int64_t width) {
  const std::vector<LinePart> parts = line_parts(progress);
  const auto limit = static_cast<std::size_t>(width);
  for (int rank = 4; rank > 0; --rank) {
    std::string line = joined_parts(parts, rank);
    if (line.size() <= limit) return line;
  }
  return joined_parts(parts, 0).substr(0, limit);
}

std::string log_line(const Progress& progress, std::chrono::seconds time_of_day) {
  const std::int64_t seconds = time_of_day.count();
  return fmt::format("{:02}:{:02}:{:02}  {}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     joined_parts(line_parts(progress), 4));
}

}  // namespace parhelion::train
