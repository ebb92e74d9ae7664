#include "train/config/byte_size.h"

#include <array>
#include <charconv>

namespace parhelion::train {
namespace {

struct ByteUnit {
  std::string_view name;
  double bytes = 1;
};
constexpr std::array kByteUnits = {ByteUnit{"", 1},         ByteUnit{"B", 1},
                                   ByteUnit{"KiB", 0x1p10}, ByteUnit{"MiB", 0x1p20},
                                   ByteUnit{"GiB", 0x1p30}, ByteUnit{"TiB", 0x1p40}};
constexpr double kMostBytes = 0x1p60;

}  // namespace

std::optional<std::int64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (status != std::errc{} || !(number > 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const ByteUnit& each : kByteUnits) {
    if (unit != each.name) continue;
    const double bytes = number * each.bytes;
    if (bytes < 1 || bytes > kMostBytes) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace parhelion::train
