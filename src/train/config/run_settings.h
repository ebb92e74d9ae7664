#pragma once

#include "base/setting.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <tuple>

namespace parhelion::train {

/// What the run computes on.
enum class Device : std::uint8_t { cpu };
constexpr auto choices(const Device*) { return std::array{choice("cpu", Device::cpu)}; }

/// Table `[run]`: where the run lives and what it computes on.
struct RunSettings {
  std::filesystem::path directory;
  std::int64_t seed = 0;
  Device device = Device::cpu;
  std::int64_t threads = 0;
  bool operator==(const RunSettings&) const = default;
};

constexpr auto settings(const RunSettings*) {
  return std::tuple(
      required_setting("directory", &RunSettings::directory,
                       "directory of the run: its checkpoints, metrics, log and curve. A run that "
                       "is already there is continued from its last checkpoint"),
      setting("seed", &RunSettings::seed,
              "what random weights, the order of documents, dropout and stochastic rounding are a "
              "function of, at least 0"),
      setting("device", &RunSettings::device, "what computes"),
      setting("threads", &RunSettings::threads,
              "threads that compute; 0 takes one for each processor. Results do not depend on it"));
}

}  // namespace parhelion::train
