#include "app/http/effective_sampling.h"

#include "serve/sampling/parameters.h"

namespace parhelion::app {

EffectiveSampling describe_sampling(const contract::SamplingPolicy& policy,
                                    const serve::Request& request) {
  EffectiveSampling made;
  const auto add = [&made](std::string_view name, const contract::SamplingValue& range,
                           const std::optional<double>& asked) {
    const double value = serve::effective(range, asked);
    made.values.emplace_back(name, value);
    if (asked && value != *asked) made.clamped.push_back(name);
  };
  add("temperature", policy.temperature, request.temperature);
  add("top_k", policy.top_k, request.top_k);
  add("top_p", policy.top_p, request.top_p);
  add("min_p", policy.min_p, request.min_p);
  add("repetition_penalty", policy.repetition_penalty, request.repetition_penalty);
  add("presence_penalty", policy.presence_penalty, request.presence_penalty);
  add("frequency_penalty", policy.frequency_penalty, request.frequency_penalty);
  made.values.insert(made.values.end(), {{"seed", request.seed},
                                         {"max_tokens", request.max_tokens},
                                         {"min_tokens", request.min_tokens}});
  return made;
}

Json sampling_json(const EffectiveSampling& sampling) {
  Json::Object object = sampling.values;
  Json::Array names;
  for (const std::string_view name : sampling.clamped) names.emplace_back(name);
  object.emplace_back("clamped", std::move(names));
  return object;
}

}  // namespace parhelion::app
