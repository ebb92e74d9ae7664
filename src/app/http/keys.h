#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// How much a key may have; 0: any.
struct KeyLimits {
  std::int64_t sequences = 0;          ///< at a time, those that wait with them
  std::int64_t queued = 0;             ///< answers that have no token yet
  std::int64_t tokens_per_minute = 0;  ///< of prompts and answers
  std::int64_t priority = 0;           ///< the best that it may ask for
  bool operator==(const KeyLimits&) const = default;
};

/// What is known of a key, without it.
struct KeyFacts {
  std::string label = {};
  KeyLimits limits = {};
};

/// Who may ask. Each key has a label, which logs show in its place.
class Keys {
 public:
  /// Everybody may.
  Keys() = default;
  /// One key a line, behind its label and white space or alone; behind label and key limits may
  /// stand, such as `sequences=4 queued=8 tokens_per_minute=60000 priority=3`. Empty lines and
  /// those that begin with `#` are passed over.
  ///
  /// Errors: invalid, naming the line, if a key is shorter than 16 characters or no plain text, a
  ///         limit is none or a label is there twice, or if there is no key.
  explicit Keys(std::string_view text);

  bool is_empty() const { return keys_.empty(); }
  /// What is known of `key`, or null if it is none. Takes a time that tells nothing of the keys.
  const KeyFacts* find(std::string_view key) const;
  /// By the label; nothing known if there is none.
  KeyFacts of(std::string_view label) const;

 private:
  struct Key {
    KeyFacts facts;
    std::string key;
  };
  static Key read_line(std::string_view line, std::int64_t number, std::size_t count);
  std::vector<Key> keys_;
};

}  // namespace parhelion::app
