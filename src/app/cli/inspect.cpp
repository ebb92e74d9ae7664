#include "app/cli/command.h"
#include "app/cli/trust_options.h"
#include "contract/core.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace parhelion::app {
namespace {

struct InspectOptions {
  std::filesystem::path core;
  TrustOptions trust;
};

}  // namespace

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

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect = app.add_subcommand("inspect", "Check a prepared file and show what it has");
  inspect->require_subcommand(1);
  CLI::App* command = inspect->add_subcommand(
      "core", "Check all of a core file: signature, digests, programs, memory plans, weights");
  command->add_option("FILE", options->core, "core file")->required();
  add_trust_options(*command, options->trust);
  command->callback([options] {
    print(contract::describe(contract::read_core(options->core, trust_of(options->trust))));
  });
}

}  // namespace parhelion::app
