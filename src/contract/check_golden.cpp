#include "contract/check_golden.h"

#include <algorithm>
#include <cmath>

namespace parhelion::contract {
namespace {

constexpr std::size_t kMostProbes = 16;
// Whether a probe fits the context is seen when it is run, since a server may lower that.
constexpr std::size_t kMostProbeTokens = 1024;

void check_probe(const Contract& contract, const GoldenProbe& probe, Problems& problems) {
  const auto in_vocabulary = [&](std::int32_t id) { return id >= 0 && id < contract.vocabulary; };
  const bool known = std::ranges::all_of(probe.prompt, in_vocabulary) &&
                     std::ranges::all_of(probe.tokens, in_vocabulary, &GoldenToken::id);
  problems.expect(known, "golden probe '{}' has an id outside the vocabulary of {}", probe.name,
                  contract.vocabulary);
  const std::size_t tokens = probe.prompt.size() + probe.tokens.size();
  problems.expect(!probe.prompt.empty() && !probe.tokens.empty() && tokens <= kMostProbeTokens,
                  "golden probe '{}' has {} and {} ids, expected some of each and at most {}",
                  probe.name, probe.prompt.size(), probe.tokens.size(), kMostProbeTokens);
  const std::size_t scores = probe.prompt_log_probabilities.size();
  problems.expect(scores == 0 || scores + 1 == probe.prompt.size(),
                  "golden probe '{}' has {} log-probabilities of its prompt, expected 0 or {}",
                  probe.name, scores, probe.prompt.size() - 1);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  const bool finite = std::isfinite(probe.temperature) && probe.temperature >= 0 &&
                      std::ranges::all_of(probe.prompt_log_probabilities, is_finite) &&
                      std::ranges::all_of(probe.tokens, is_finite, &GoldenToken::log_probability);
  problems.expect(finite, "golden probe '{}' has a value that is not finite or negative",
                  probe.name);
}

}  // namespace

void check_golden(const Contract& contract, Problems& problems) {
  const Golden& golden = contract.golden;
  if (golden.probes.empty()) return;
  problems.expect(golden.probes.size() <= kMostProbes, "golden has {} probes, expected at most {}",
                  golden.probes.size(), kMostProbes);
  problems.expect(std::isfinite(golden.tolerance) && golden.tolerance > 0,
                  "golden tolerance is {}, expected > 0", golden.tolerance);
  for (const GoldenProbe& probe : golden.probes) check_probe(contract, probe, problems);
}

}  // namespace parhelion::contract
