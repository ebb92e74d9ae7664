#pragma once

#include "model/recipes/config_keys.h"
#include "state/gguf_metadata.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace parhelion::model {

/// The keys of a GGUF file that describe an architecture: those that begin with its name and a
/// dot, each of which must be read, or named as one that has no effect.
///
/// Errors: invalid for a missing key or a value of the wrong type or range; unsupported for a
///         value that cannot be honoured; the message names the full key.
class GgufKeys {
 public:
  /// `metadata` must outlive this object; `architecture` is without the dot.
  GgufKeys(const state::GgufMetadata& metadata, std::string_view architecture);

  bool has(std::string_view key);
  /// An integer from 1 to `most`; without `otherwise` the key must be there.
  std::int64_t size(std::string_view key, std::optional<std::int64_t> otherwise = {},
                    std::int64_t most = kMaxSize);
  /// A number > 0.
  double positive(std::string_view key, std::optional<double> otherwise = {});
  std::string text(std::string_view key, std::string_view otherwise);

  /// Names keys that change nothing here.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Errors: unsupported if a key of the architecture was neither read nor ignored, or if a key
  ///         belongs to no known group; the message names all such keys.
  void finish() const;

 private:
  std::string full(std::string_view key);

  const state::GgufMetadata& metadata_;
  std::string prefix_;
  std::set<std::string, std::less<>> seen_;  // full keys
};

}  // namespace parhelion::model
