#include "app/cli/effective_options.h"

#include "support/test_directory.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

#include <fstream>

namespace parhelion::app {
namespace {

using testing::ContainsRegex;

class EffectiveOptionsTest : public TestDirectory {};

TEST_F(EffectiveOptionsTest, NameWhereEachValueComesFrom) {
  const std::filesystem::path file = directory_ / "serve.toml";
  std::ofstream(file) << "max_rows = 2\nport = 9\n";
  CLI::App command;
  int rows = 1, port = 1, queue = 1;
  command.add_option("--max-rows", rows)->capture_default_str();
  command.add_option("--port", port)->capture_default_str();
  command.add_option("--queue", queue)->capture_default_str();
  command.parse("--port 3");
  const std::string text = print_options(command, read_option_file(command, file));
  EXPECT_EQ(port, 3);
  EXPECT_EQ(rows, 2);
  EXPECT_THAT(text, ContainsRegex("--max-rows +2 +file"));
  EXPECT_THAT(text, ContainsRegex("--port +3 +command line"));
  EXPECT_THAT(text, ContainsRegex("--queue +1 +default"));
}

}  // namespace
}  // namespace parhelion::app
