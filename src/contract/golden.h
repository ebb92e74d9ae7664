#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::contract {

/// What one position of a probe is to give.
struct GoldenToken {
  std::int32_t id = 0;
  float log_probability = 0;  ///< under the model's own distribution
  /// Drawn again even if its logit is lower by twice the tolerance, so that another processor has
  /// to draw it too.
  bool is_firm = false;
  bool operator==(const GoldenToken&) const = default;
};

/// A fixed request and its answer.
struct GoldenProbe {
  std::string name;
  std::vector<std::int32_t> prompt;
  /// Of each id of the prompt after the first; empty: not asked for.
  std::vector<float> prompt_log_probabilities = {};
  double temperature = 0;  ///< 0 is greedy
  std::uint64_t seed = 0;
  std::vector<GoldenToken> tokens = {};  ///< what is drawn behind the prompt
  bool operator==(const GoldenProbe&) const = default;
};

/// Probes that a server runs before it is ready, and what they gave when the core was prepared.
struct Golden {
  double tolerance = 0;  ///< how far a log-probability may be from the one that is kept
  std::string dtype = {};
  std::string numerics = {};
  std::string host = {};  ///< the processor or device that ran them
  std::vector<GoldenProbe> probes = {};
  bool operator==(const Golden&) const = default;
};

}  // namespace parhelion::contract
