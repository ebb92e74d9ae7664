#pragma once

#include "base/json.h"
#include "contract/policy.h"
#include "serve/request.h"

#include <string_view>
#include <vector>

namespace parhelion::app {

/// What a request is sampled with.
struct EffectiveSampling {
  Json::Object values = {};  ///< by the names of the request's fields
  /// Fields whose values were moved into the model's ranges.
  std::vector<std::string_view> clamped = {};
};
EffectiveSampling describe_sampling(const contract::SamplingPolicy& policy,
                                    const serve::Request& request);

/// As an object, with the clamped names as a list.
Json sampling_json(const EffectiveSampling& sampling);

}  // namespace parhelion::app
