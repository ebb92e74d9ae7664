#pragma once

#include "base/setting.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <tuple>

namespace parhelion::train {

/// What the run computes on.
enum class Device : std::uint8_t { cpu, cuda };
constexpr auto choices(const Device*) {
  return std::array{choice("cpu", Device::cpu), choice("cuda", Device::cuda)};
}

/// What is promised of the bits of a row; on a processor they are always exact.
enum class Numerics : std::uint8_t { exact, invariant, fast };
constexpr auto choices(const Numerics*) {
  return std::array{choice("exact", Numerics::exact), choice("invariant", Numerics::invariant),
                    choice("fast", Numerics::fast)};
}

/// Table `[run]`: where the run lives and what it computes on.
struct RunSettings {
  std::filesystem::path directory;
  std::int64_t seed = 0;
  Device device = Device::cpu;
  Numerics numerics = Numerics::exact;
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
      setting("numerics", &RunSettings::numerics,
              "what a GPU promises of bits: exact has those of serving and repeats them, fast is "
              "free to choose; a processor is always exact"),
      setting("threads", &RunSettings::threads,
              "threads that compute; 0 takes one for each processor. Results do not depend on it"));
}

}  // namespace parhelion::train
