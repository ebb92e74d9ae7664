#include "app/cli/trust_options.h"

#include <CLI/CLI.hpp>

namespace parhelion::app {

void add_trust_options(CLI::App& command, TrustOptions& options) {
  command.add_option("--trust", options.trust,
                     "public keys whose signatures count: a file, or a directory of .pub files");
  command.add_flag("--allow-unsigned", options.allow_unsigned,
                   "read a core that no trusted key has signed, too");
}

contract::Trust trust_of(const TrustOptions& options) {
  contract::Trust trust{.allow_unsigned = options.allow_unsigned};
  if (!options.trust.empty()) trust.keys = contract::read_trust_store(options.trust);
  return trust;
}

void add_core_options(CLI::App& command, RunOptions& run, TrustOptions& trust) {
  add_run_options(command, run);
  command.get_option("MODEL")->description(kModelOrCoreHelp);
  add_trust_options(command, trust);
}

void take_core_options(const CLI::App& command, const RunOptions& run, const TrustOptions& trust,
                       ServingChoice& choice) {
  choice.model = run.model;
  choice.adapter = run.adapter;
  choice.dtype = run.dtype;
  choice.executor = run.executor;
  choice.names_device = command.count("--device") > 0;
  choice.names_numerics = command.count("--numerics") > 0;
  choice.trust = trust_of(trust);
}

}  // namespace parhelion::app
