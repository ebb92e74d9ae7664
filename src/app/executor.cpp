#include "app/executor.h"

#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace parhelion::app {
namespace {

/// Where libraries' plans are kept between runs: the user's cache directory, or nowhere.
std::filesystem::path plan_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "parhelion" / "plans";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "parhelion" / "plans";
  return {};
}

}  // namespace

std::unique_ptr<exec::Executor> make_executor(const ExecutorChoice& choice) {
  if (choice.device == "cuda") {
    return exec::make_cuda_executor(
        {.numerics = exec::numerics_named(choice.numerics), .plan_cache = plan_cache()});
  }
  const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return exec::make_cpu_executor({.threads = choice.threads == 0 ? all : choice.threads});
}

}  // namespace parhelion::app
