#pragma once

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

}  // namespace parhelion::app
