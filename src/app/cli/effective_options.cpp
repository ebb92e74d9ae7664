#include "app/cli/effective_options.h"

#include "base/error.h"
#include "base/file.h"
#include "base/toml.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace parhelion::app {
namespace {

std::string option_of_key(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

std::string plain_value(const Json& value) {
  return value.is_string() ? value.as_string("value") : write_json(value);
}

std::vector<std::string> plain_values(const Json& value) {
  std::vector<std::string> values;
  if (!value.is_array()) return {plain_value(value)};
  for (const Json& item : value.as_array("value")) values.push_back(plain_value(item));
  return values;
}

void set_option(CLI::Option& option, const std::string& where, const Json& value) {
  try {
    option.add_result(plain_values(value));
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::invalid, "{}: {}", where, error.what());
  }
}

std::string value_of(const CLI::Option& option) {
  if (option.count() == 0) return option.get_default_str();
  return fmt::format("{}", fmt::join(option.results(), " "));
}

}  // namespace

std::set<std::string> read_option_file(CLI::App& command, const std::filesystem::path& path) {
  std::set<std::string> taken;
  if (path.empty()) return taken;
  const Json table = parse_toml(read_file(path), path.string());
  for (const auto& [key, value] : table.as_object(path.string())) {
    const std::string where = path.string() + ": " + key;
    CLI::Option* option = command.get_option_no_throw(option_of_key(key));
    ensure(option != nullptr && key != "help" && key != "config", ErrorKind::invalid,
           "{}: is no option of {}", where, command.get_name());
    if (option->count() > 0) continue;
    set_option(*option, where, value);
    taken.insert(option->get_name());
  }
  return taken;
}

std::string print_options(const CLI::App& command, const std::set<std::string>& from_file) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (name == "--help" || name == "-h,--help") continue;
    const bool is_given = option->count() > 0;
    const std::string_view origin = !is_given                  ? "default"
                                    : from_file.contains(name) ? "file"
                                                               : "command line";
    text += fmt::format("  {:<22} {:<24} {}\n", name, value_of(*option), origin);
  }
  return text;
}

}  // namespace parhelion::app
