#pragma once

#include "app/cli/command.h"
#include "app/served_engine.h"
#include "contract/keys.h"

#include <filesystem>

namespace CLI {
class App;
}

namespace parhelion::app {

/// Options that all commands which read a core share.
struct TrustOptions {
  std::filesystem::path trust;  ///< empty: no key is trusted
  bool allow_unsigned = false;
};
void add_trust_options(CLI::App& command, TrustOptions& options);

/// Errors: as contract::read_trust_store.
contract::Trust trust_of(const TrustOptions& options);

/// Options that all commands share which run a model or a core.
void add_core_options(CLI::App& command, RunOptions& run, TrustOptions& trust);

/// What they say, once the command line is read. Errors: as trust_of.
void take_core_options(const CLI::App& command, const RunOptions& run, const TrustOptions& trust,
                       ServingChoice& choice);

}  // namespace parhelion::app
