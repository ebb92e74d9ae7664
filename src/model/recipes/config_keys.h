#pragma once

#include "base/json.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace parhelion::model {

/// The largest size that a config may give, and the most layers.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxLayers = 4096;

/// The members of one JSON object of a config, each of which must be read, or named as one that
/// has no effect. A null member counts as absent.
///
/// Errors: invalid for a missing key or a value of the wrong type or range; unsupported for a
///         value that cannot be honoured; both begin with `where` and name the key.
class ConfigKeys {
 public:
  /// `where` names the object in errors, such as `config.json`.
  ///
  /// Errors: invalid if it is no object.
  ConfigKeys(const Json& object, std::string where);

  const std::string& where() const { return where_; }

  /// The member, or null if it is absent.
  const Json* find(std::string_view key);
  /// An integer from 1 to `most`; without `otherwise` the key must be there.
  std::int64_t size(std::string_view key, std::optional<std::int64_t> otherwise = {},
                    std::int64_t most = kMaxSize);
  /// A number > 0.
  double positive(std::string_view key, std::optional<double> otherwise = {});
  bool flag(std::string_view key, bool otherwise);

  /// Refuses every value but this one.
  void expect(std::string_view key, const Json& value);
  /// Names keys that change nothing here.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Errors: unsupported if a key was neither read nor ignored; the message names all such keys.
  void finish() const;

 private:
  const Json& required(std::string_view key);

  const Json& object_;
  std::string where_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace parhelion::model
