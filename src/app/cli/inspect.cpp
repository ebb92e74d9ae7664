#include "app/cli/command.h"
#include "app/cli/trust_options.h"
#include "base/error.h"
#include "contract/core.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <thread>

namespace parhelion::app {
namespace {

struct InspectOptions {
  std::filesystem::path core;
  TrustOptions trust;
  bool runs_golden = false;
};

/// Starts an engine as a server does, which runs them.
void run_golden_of(const contract::Core& core, const InspectOptions& options) {
  const std::size_t count = core.contract.golden.probes.size();
  ensure(count > 0, ErrorKind::invalid, "{}: has no golden probes", options.core.string());
  ServingChoice choice;
  choice.model = options.core;
  choice.trust = trust_of(options.trust);
  choice.executor.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  start_engine(choice, [](std::string_view) {});
  print(fmt::format("golden    {} probes agree\n", count));
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect = app.add_subcommand("inspect", "Check a prepared file and show what it has");
  inspect->require_subcommand(1);
  CLI::App* command = inspect->add_subcommand(
      "core", "Check all of a core file: signature, digests, programs, memory plans, weights");
  command->add_option("FILE", options->core, "core file")->required();
  add_trust_options(*command, options->trust);
  command->add_flag("--golden", options->runs_golden,
                    "run its golden probes too, on the device that it was prepared for");
  command->callback([options] {
    const contract::Core core = contract::read_core(options->core, trust_of(options->trust));
    print(contract::describe(core));
    if (options->runs_golden) run_golden_of(core, *options);
  });
}

}  // namespace parhelion::app
