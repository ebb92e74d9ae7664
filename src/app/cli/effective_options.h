#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace CLI {
class App;
}

namespace parhelion::app {

/// Takes options of a command from a TOML file, keys as the options are named, but `_` for `-`.
/// What the command line says goes before. Gives the names of those it took; none without a path.
///
/// Errors: invalid, naming the key, if there is no such option or it does not take the value.
std::set<std::string> read_option_file(CLI::App& command, const std::filesystem::path& path);

/// Each option with its value and where that comes from: the command line, the file (`from_file`)
/// or the default.
std::string print_options(const CLI::App& command, const std::set<std::string>& from_file);

}  // namespace parhelion::app
