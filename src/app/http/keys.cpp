#include "app/http/keys.h"

#include "app/http/wire.h"
#include "base/error.h"

#include <algorithm>
#include <charconv>
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

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(kKeySpace), line.size());
    words.push_back(line.substr(0, end));
    line = trimmed(line.substr(end));
  }
  return words;
}

/// Takes `name=value` into its limit.
void read_key_limit(std::string_view word, std::int64_t line, KeyLimits& limits) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view digits = word.substr(std::min(equals + 1, word.size()));
  std::int64_t* limit = name == "sequences"           ? &limits.sequences
                        : name == "queued"            ? &limits.queued
                        : name == "tokens_per_minute" ? &limits.tokens_per_minute
                        : name == "priority"          ? &limits.priority
                                                      : nullptr;
  ensure(
      limit != nullptr, ErrorKind::invalid,
      "keys line {}: '{}' is no limit, expected sequences, queued, tokens_per_minute or priority",
      line, name);
  std::int64_t value = -1;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = code == std::errc() && end == digits.data() + digits.size() && value >= 0;
  ensure(is_number && (limit != &limits.priority || value <= 9), ErrorKind::invalid,
         "keys line {}: {} is '{}', expected a number{}", line, name, digits,
         limit == &limits.priority ? " of 0 to 9" : "");
  *limit = value;
}

}  // namespace

Keys::Key Keys::read_line(std::string_view line, std::int64_t number, std::size_t count) {
  const std::vector<std::string_view> words = words_of(line);
  const std::string_view key = words.size() == 1 ? words[0] : words[1];
  ensure(is_plain_token(key) && key.size() >= 16, ErrorKind::invalid,
         "keys line {}: expected a key of 16 to 128 visible characters", number);
  Key made{.facts = {}, .key = std::string(key)};
  made.facts.label = words.size() == 1 ? fmt::format("key{}", count + 1) : std::string(words[0]);
  for (std::size_t i = 2; i < words.size(); ++i)
    read_key_limit(words[i], number, made.facts.limits);
  return made;
}

Keys::Keys(std::string_view text) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    Key key = read_line(line, number, keys_.size());
    for (const Key& each : keys_)
      ensure(each.facts.label != key.facts.label, ErrorKind::invalid,
             "keys line {}: label '{}' is there twice", number, key.facts.label);
    keys_.push_back(std::move(key));
  }
  ensure(!keys_.empty(), ErrorKind::invalid, "keys: has none");
}

const KeyFacts* Keys::find(std::string_view key) const {
  const KeyFacts* found = nullptr;
  for (const Key& each : keys_) {
    if (is_same_secret(each.key, key)) found = &each.facts;
  }
  return found;
}

KeyFacts Keys::of(std::string_view label) const {
  const auto is_it = [label](const Key& each) { return each.facts.label == label; };
  const auto found = std::ranges::find_if(keys_, is_it);
  return found == keys_.end() ? KeyFacts{.label = std::string(label)} : found->facts;
}

}  // namespace parhelion::app
