#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace parhelion::train {

/// A job's checkpoints lie side by side in one directory. Only a rename makes one appear there, and
/// only a rename makes one vanish, so what has a checkpoint's name is whole.

/// Its name: `step-` and at least eight digits.
std::string checkpoint_name(std::int64_t step);

/// The path beside its final one where a checkpoint is written, and where it is removed.
std::filesystem::path unfinished_path(const std::filesystem::path& checkpoint);

/// The checkpoints of a job, newest first: what has a checkpoint's name and a manifest. Empty if
/// there is no such directory.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);

/// Gives the finished directory at `unfinished_path(checkpoint)` its name, in the place of a
/// checkpoint that had it before, and makes that durable.
///
/// Errors: invalid if it cannot be renamed.
void publish_checkpoint(const std::filesystem::path& checkpoint);

/// Removes all but the newest `keep` checkpoints; 0 keeps all.
///
/// Errors: invalid if one cannot be removed.
void remove_old_checkpoints(const std::filesystem::path& directory, std::int64_t keep);

/// Removes what an interrupted save or removal left.
///
/// Errors: invalid if something cannot be removed.
void remove_unfinished_checkpoints(const std::filesystem::path& directory);

}  // namespace parhelion::train
