#include "app/http/keys.h"

#include "app/http/wire.h"
#include "base/error.h"

#include <algorithm>
#include <cstdint>

namespace parhelion::app {
namespace {

constexpr std::string_view kKeySpace = " \t\r";

/// The same steps whatever the bytes of `secret` are; the length of `given` shows, which its sender
/// knows.
bool is_same_secret(std::string_view secret, std::string_view given) {
  std::uint32_t difference = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto expected = static_cast<unsigned char>(secret[i % secret.size()]);
    difference |= static_cast<std::uint32_t>(expected ^ static_cast<unsigned char>(given[i]));
  }
  return difference == 0;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kKeySpace);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kKeySpace) - first + 1);
}

}  // namespace

Keys::Keys(std::string_view text) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find_first_of(kKeySpace);
    const bool has_label = space != std::string_view::npos;
    const std::string_view key = has_label ? trimmed(line.substr(space)) : line;
    ensure(is_plain_token(key) && key.size() >= 16, ErrorKind::invalid,
           "keys line {}: expected a key of 16 to 128 visible characters", number);
    keys_.push_back({.label = has_label ? std::string(line.substr(0, space))
                                        : fmt::format("key{}", keys_.size() + 1),
                     .key = std::string(key)});
  }
  ensure(!keys_.empty(), ErrorKind::invalid, "keys: has none");
}

std::optional<std::string> Keys::find(std::string_view key) const {
  const Key* found = nullptr;
  for (const Key& each : keys_) {
    if (is_same_secret(each.key, key)) found = &each;
  }
  if (found == nullptr) return std::nullopt;
  return found->label;
}

}  // namespace parhelion::app
