// Runs every file of a corpus directory through a fuzz target, in a build without libFuzzer.
#include "base/file.h"
#include "fuzz/fuzz.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace {

int run_seeds(const std::filesystem::path& directory) {
  int seed_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string seed = parhelion::read_file(entry.path());
    fmt::print("{}\n", entry.path().filename().string());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size());
    ++seed_count;
  }
  return seed_count;
}

}  // namespace

int main(int argument_count, char** arguments) try {
  if (argument_count != 2) {
    fmt::print(stderr, "usage: {} CORPUS_DIRECTORY\n", arguments[0]);
    return 2;
  }
  const int seed_count = run_seeds(arguments[1]);
  fmt::print("{} seeds\n", seed_count);
  return seed_count > 0 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "finding in the seed named last: {}\n", error.what());
  return 1;
}
