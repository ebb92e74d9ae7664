#include "train/checkpoint/open_checkpoint.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "model/mapping.h"
#include "train/checkpoint/checkpoint_directory.h"
#include "train/checkpoint/write_checkpoint.h"

#include <algorithm>
#include <string>

namespace parhelion::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kManifestMostBytes = std::int64_t{64} << 20;

void verify_checkpoint_file(const fs::path& path, const FileRecord& record, Verify verify) {
  ensure(fs::is_regular_file(path), ErrorKind::corrupt, "{}: is missing, but the manifest names it",
         path.string());
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  ensure(bytes == record.bytes, ErrorKind::corrupt, "{}: has {} bytes, the manifest says {}",
         path.string(), bytes, record.bytes);
  if (verify == Verify::sizes) return;
  ensure(hex(hash128(MappedFile(path).bytes())) == record.xxh128, ErrorKind::corrupt,
         "{}: its contents are damaged: they do not have the hash that the manifest says",
         path.string());
}

bool is_checkpoint_damage(const Error& error) {
  return error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::invalid;
}

std::optional<TrainCheckpoint> open_checkpoint_if_whole(const fs::path& directory, Verify verify,
                                                        const WarningSink& warn) try {
  return open_train_checkpoint(directory, verify);
} catch (const Error& error) {
  if (!is_checkpoint_damage(error)) throw;
  warn(fmt::format("DAMAGED CHECKPOINT {}: {}; trying the one before it", directory.string(),
                   error.what()));
  return std::nullopt;
}

}  // namespace

TrainCheckpoint open_train_checkpoint(const fs::path& directory, Verify verify) {
  const fs::path path = directory / kManifestName;
  ensure(fs::exists(path), ErrorKind::invalid, "{}: has no {}, so it is no finished checkpoint",
         directory.string(), kManifestName);
  TrainCheckpoint checkpoint{
      .directory = directory,
      .manifest = parse_manifest(read_file(path, kManifestMostBytes), path.string())};
  for (const FileRecord& record : checkpoint.manifest.files)
    verify_checkpoint_file(directory / record.name, record, verify);
  return checkpoint;
}

void log_warning(const std::string& text) { write_log(LogLevel::warning, text); }

std::optional<TrainCheckpoint> open_newest_checkpoint(const fs::path& checkpoints, Verify verify,
                                                      const WarningSink& warn) {
  const std::vector<fs::path> found = list_checkpoints(checkpoints);
  for (const fs::path& directory : found) {
    auto checkpoint = open_checkpoint_if_whole(directory, verify, warn);
    if (checkpoint) return checkpoint;
  }
  ensure(found.empty(), ErrorKind::corrupt, "{}: has no whole checkpoint, but {}",
         checkpoints.string(), counted(std::ssize(found), "damaged one"));
  return std::nullopt;
}

state::Checkpoint saved_parameters(const TrainCheckpoint& checkpoint) {
  return state::open_checkpoint(checkpoint.directory, model::kParametersStem);
}

state::Checkpoint saved_optimizer(const TrainCheckpoint& checkpoint) {
  return state::open_checkpoint(checkpoint.directory, kOptimizerStem);
}

}  // namespace parhelion::train
