#include "base/error.h"
#include "contract/core.pb.h"
#include "contract/policy_message.h"

namespace parhelion::contract {
namespace {

void write_probe(const GoldenProbe& probe, proto::GoldenProbe& message) {
  message.set_name(probe.name);
  for (const std::int32_t id : probe.prompt) message.add_prompt(id);
  for (const float value : probe.prompt_log_probabilities)
    message.add_prompt_log_probabilities(value);
  message.set_temperature(probe.temperature);
  message.set_seed(probe.seed);
  for (const GoldenToken& token : probe.tokens) {
    message.add_ids(token.id);
    message.add_log_probabilities(token.log_probability);
    message.add_firm(token.is_firm);
  }
}

GoldenProbe read_probe(const proto::GoldenProbe& message) {
  const bool fits = message.ids_size() == message.log_probabilities_size() &&
                    message.ids_size() == message.firm_size();
  ensure(fits, ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: a golden probe has {} ids, {} log-probabilities and {} marks, "
         "expected as many of each",
         message.ids_size(), message.log_probabilities_size(), message.firm_size());
  GoldenProbe probe{.name = message.name(),
                    .prompt = {message.prompt().begin(), message.prompt().end()},
                    .prompt_log_probabilities = {message.prompt_log_probabilities().begin(),
                                                 message.prompt_log_probabilities().end()},
                    .temperature = message.temperature(),
                    .seed = message.seed()};
  for (int i = 0; i < message.ids_size(); ++i)
    probe.tokens.push_back({.id = message.ids(i),
                            .log_probability = message.log_probabilities(i),
                            .is_firm = message.firm(i)});
  return probe;
}

}  // namespace

void write_message(const Golden& golden, proto::Golden& message) {
  message.set_tolerance(golden.tolerance);
  message.set_dtype(golden.dtype);
  message.set_numerics(golden.numerics);
  message.set_host(golden.host);
  for (const GoldenProbe& probe : golden.probes) write_probe(probe, *message.add_probes());
}

Golden read_message(const proto::Golden& message) {
  Golden golden{.tolerance = message.tolerance(),
                .dtype = message.dtype(),
                .numerics = message.numerics(),
                .host = message.host()};
  for (const proto::GoldenProbe& probe : message.probes())
    golden.probes.push_back(read_probe(probe));
  return golden;
}

}  // namespace parhelion::contract
