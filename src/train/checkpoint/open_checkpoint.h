#pragma once

#include "state/checkpoint.h"
#include "train/checkpoint/manifest.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace parhelion::train {

/// How far a checkpoint's files are compared with what the manifest says of them.
enum class Verify : std::uint8_t {
  sizes,     ///< they are there and have their lengths: costs nothing
  contents,  ///< their hashes too: reads everything once
};

/// A finished checkpoint.
struct TrainCheckpoint {
  std::filesystem::path directory;
  Manifest manifest;
};

/// Opens the checkpoint in `directory`.
///
/// Errors: invalid if it has no manifest, so was never finished; corrupt, naming the file and what
///         is wrong, if the manifest or a file is damaged or missing; unsupported for manifests of
///         other versions.
TrainCheckpoint open_train_checkpoint(const std::filesystem::path& directory, Verify verify);

/// Hears of what goes wrong and is survived.
using WarningSink = std::function<void(const std::string&)>;

/// Writes a warning to standard error.
void log_warning(const std::string& text);

/// The newest checkpoint of a job that is whole, or none if there are none at all. `warn` hears of
/// each damaged one before it.
///
/// Errors: corrupt if there are checkpoints but none is whole; unsupported as above.
std::optional<TrainCheckpoint> open_newest_checkpoint(const std::filesystem::path& checkpoints,
                                                      Verify verify,
                                                      const WarningSink& warn = log_warning);

/// Its tensors, under the names of their buffers.
///
/// Errors: as state::open_checkpoint.
state::Checkpoint saved_parameters(const TrainCheckpoint& checkpoint);
state::Checkpoint saved_optimizer(const TrainCheckpoint& checkpoint);

}  // namespace parhelion::train
