// JSON that parses is written as JSON which parses to the same value; anything else is corrupt.
#include "base/error.h"
#include "base/json.h"
#include "fuzz/fuzz.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace {

using parhelion::Json;

std::optional<Json> parse_or_refuse(std::string_view text) try {
  return parhelion::parse_json(text, "fuzz", {.depth = 32, .values = 10'000});
} catch (const parhelion::Error& error) {
  if (error.kind() != parhelion::ErrorKind::corrupt) throw;
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = parse_or_refuse({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  if (parhelion::parse_json(write_json(*value), "written") != *value) std::abort();
  return 0;
}
