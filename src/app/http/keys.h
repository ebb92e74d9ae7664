#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// Who may ask. Each key has a label, which logs show in its place.
class Keys {
 public:
  /// Everybody may.
  Keys() = default;
  /// One key a line, behind its label and white space or alone; empty lines and those that begin
  /// with `#` are passed over.
  ///
  /// Errors: invalid, naming the line, if a key is shorter than 16 characters or no plain text, or
  /// if there is none.
  explicit Keys(std::string_view text);

  bool is_empty() const { return keys_.empty(); }
  /// The label of `key`, or nothing if it is none. Takes a time that tells nothing of the keys.
  std::optional<std::string> find(std::string_view key) const;

 private:
  struct Key {
    std::string label;
    std::string key;
  };
  std::vector<Key> keys_;
};

}  // namespace parhelion::app
