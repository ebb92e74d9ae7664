#include "serve/sampling/parameters.h"

#include "base/error.h"
#include "serve/request.h"

#include <algorithm>
#include <cmath>

namespace parhelion::serve {
double effective(const contract::SamplingValue& policy, const std::optional<double>& asked) {
  return asked ? std::clamp(*asked, policy.lowest, policy.highest) : policy.standard;
}

void check_legal(std::string_view name, const std::optional<double>& value, double lowest,
                 double highest) {
  const bool legal = !value || (std::isfinite(*value) && *value >= lowest && *value <= highest);
  ensure(legal, ErrorKind::invalid, "{}: is {}, expected {} to {}", name, *value, lowest, highest);
}

SamplingParameters effective_sampling(const contract::SamplingPolicy& policy,
                                      const Request& request) {
  check_legal("temperature", request.temperature, 0, 1e6);
  check_legal("top_k", request.top_k, 0, contract::kMostTopK);
  check_legal("top_p", request.top_p, 0, 1);
  check_legal("min_p", request.min_p, 0, 1);
  SamplingParameters result{
      .temperature = static_cast<float>(effective(policy.temperature, request.temperature)),
      .top_k = static_cast<std::int32_t>(effective(policy.top_k, request.top_k)),
      .top_p = static_cast<float>(effective(policy.top_p, request.top_p)),
      .min_p = static_cast<float>(effective(policy.min_p, request.min_p)),
      .seed = request.seed};
  if (result.top_p == 0.0f) result.temperature = 0;  // top_p 0 keeps the likeliest id alone
  return result;
}

}  // namespace parhelion::serve
