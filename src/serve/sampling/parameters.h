#pragma once

#include "contract/contract.h"
#include "serve/step.h"

#include <optional>
#include <string_view>

namespace parhelion::serve {

struct Request;

/// What a request asks for, inside the policy's range; else the policy's standard.
double effective(const contract::SamplingValue& policy, const std::optional<double>& asked);

/// Errors: invalid if the value is set and not a number of [lowest, highest].
void check_legal(std::string_view name, const std::optional<double>& value, double lowest,
                 double highest);

/// The values that a request is sampled with: its own where set, clamped to the policy's ranges,
/// else the policy's.
///
/// Errors: invalid if a set value is not finite or outside its legal range (temperature and top_k
/// >= 0, top_p and
///         min_p in [0, 1]); top_p 0 is greedy.
SamplingParameters effective_sampling(const contract::SamplingPolicy& policy,
                                      const Request& request);

}  // namespace parhelion::serve
