#include "contract/keys.h"

#include "app/cli/command.h"
#include "contract/core.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace parhelion::app {
namespace {

struct KeysOptions {
  std::filesystem::path directory;
  std::string label = "parhelion";
  std::filesystem::path core;
  std::filesystem::path key;
};

void run_new_keys(const KeysOptions& options) {
  const contract::PublicKey key = contract::write_key_pair(options.directory, options.label);
  print(fmt::format("{}\n", contract::hex(key)));
}

void add_new(CLI::App& keys, const std::shared_ptr<KeysOptions>& options) {
  CLI::App* command = keys.add_subcommand(
      "new", "Make a pair: LABEL.key signs and stays secret, LABEL.pub goes to who trusts it");
  command->add_option("DIRECTORY", options->directory, "where to put the two files")->required();
  command->add_option("--label", options->label, "name of the key")->capture_default_str();
  command->callback([options] { run_new_keys(*options); });
}

void add_sign(CLI::App& keys, const std::shared_ptr<KeysOptions>& options) {
  CLI::App* command = keys.add_subcommand("sign", "Add a signature to a core file");
  command->add_option("FILE", options->core, "core file, which is checked first")->required();
  command->add_option("--key", options->key, "secret key: a .key file")->required();
  command->callback(
      [options] { contract::sign_core(options->core, contract::read_secret_key(options->key)); });
}

}  // namespace

void add_keys(CLI::App& app) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* keys = app.add_subcommand("keys", "Make keys and sign core files with them");
  keys->require_subcommand(1);
  add_new(*keys, options);
  add_sign(*keys, options);
}

}  // namespace parhelion::app
