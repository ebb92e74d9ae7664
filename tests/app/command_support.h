#pragma once

#include "base/file.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace parhelion::app {

struct Outcome {
  int code = -1;
  std::string output;  ///< standard output and errors together
};

/// Runs a line of Bash.
inline Outcome run_line(const std::string& line) {
  const std::filesystem::path script =
      std::filesystem::path(testing::TempDir()) / ("command_" + std::to_string(::getpid()) + ".sh");
  AtomicFile file(script);
  file.write(line + "\n");
  file.commit();
  FILE* pipe = ::popen(("bash " + script.string() + " 2>&1").c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> buffer;
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// Runs the program as a user does; `arguments` are words of Bash.
inline Outcome run(const std::string& arguments) {
  return run_line(std::string("'") + PARHELION_BINARY + "' " + arguments);
}

}  // namespace parhelion::app
