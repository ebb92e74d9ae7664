#include "model/recipes/gguf_keys.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace parhelion::model {
namespace {

/// Groups of keys that say nothing of the architecture.
constexpr std::array<std::string_view, 3> kOtherGroups = {"general.", "tokenizer.", "quantize."};

bool in_other_group(std::string_view key) {
  return std::any_of(kOtherGroups.begin(), kOtherGroups.end(),
                     [key](std::string_view group) { return key.starts_with(group); });
}

}  // namespace

GgufKeys::GgufKeys(const state::GgufMetadata& metadata, std::string_view architecture)
    : metadata_(metadata), prefix_(fmt::format("{}.", architecture)) {}

std::string GgufKeys::full(std::string_view key) {
  return *seen_.insert(prefix_ + std::string(key)).first;
}

bool GgufKeys::has(std::string_view key) { return metadata_.find(full(key)) != nullptr; }

std::int64_t GgufKeys::size(std::string_view key, std::optional<std::int64_t> otherwise,
                            std::int64_t most) {
  if (otherwise && !has(key)) return *otherwise;
  const std::int64_t value = metadata_.integer(full(key));
  ensure(value >= 1 && value <= most, ErrorKind::invalid, "{} is {}, expected 1 to {}", full(key),
         value, most);
  return value;
}

double GgufKeys::positive(std::string_view key, std::optional<double> otherwise) {
  if (otherwise && !has(key)) return *otherwise;
  const double value = metadata_.number(full(key));
  ensure(std::isfinite(value) && value > 0, ErrorKind::invalid, "{} is {}, expected > 0", full(key),
         value);
  return value;
}

std::string GgufKeys::text(std::string_view key, std::string_view otherwise) {
  return std::string(has(key) ? metadata_.string(full(key)) : otherwise);
}

void GgufKeys::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) full(key);
}

void GgufKeys::finish() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : metadata_.entries())
    if (!seen_.contains(key) && !in_other_group(key)) unknown.push_back(fmt::format("'{}'", key));
  ensure(unknown.empty(), ErrorKind::unsupported, "gguf: unknown keys {}",
         fmt::join(unknown, ", "));
}

}  // namespace parhelion::model
