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
