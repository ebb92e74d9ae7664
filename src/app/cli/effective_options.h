#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace parhelion::app {

/// Takes options of a command from a TOML file, keys as the options are named, but `_` for `-`.
/// What the command line says goes before.
///
/// Errors: invalid, naming the key, if there is no such option or it does not take the value.
void read_option_file(CLI::App& command, const std::filesystem::path& path);

/// Each option with its value and where that comes from: the command line, the file or the default.
std::string print_options(const CLI::App& command, const std::filesystem::path& file);

}  // namespace parhelion::app
