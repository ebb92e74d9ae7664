#include "train/checkpoint/checkpoint_directory.h"

#include "base/error.h"
#include "base/file.h"
#include "train/checkpoint/manifest.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace parhelion::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointPrefix = "step-";
constexpr std::string_view kUnfinishedSuffix = ".tmp";

/// The step of a checkpoint's name, or none if it is no such name.
std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kCheckpointPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kCheckpointPrefix.size());
  std::int64_t step = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (step < 0 || checkpoint_name(step) != name) return std::nullopt;
  return step;
}

void remove_checkpoint_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  ensure(!error, ErrorKind::invalid, "{}: cannot remove: {}", path.string(), error.message());
}

/// `flags` are those of renameat2.
void rename_checkpoint(const fs::path& from, const fs::path& to, unsigned flags = 0) {
  const bool renamed = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
  ensure(renamed, ErrorKind::invalid, "{}: cannot rename to {}: {}", from.string(),
         to.filename().string(), std::strerror(errno));
}

std::vector<fs::path> checkpoint_entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  ensure(!error, ErrorKind::invalid, "{}: cannot list: {}", directory.string(), error.message());
  return entries;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("{}{:08}", kCheckpointPrefix, step);
}

fs::path unfinished_path(const fs::path& checkpoint) {
  return checkpoint.string() + std::string(kUnfinishedSuffix);
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  if (!fs::exists(directory)) return {};
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const fs::path& path : checkpoint_entries(directory)) {
    const auto step = step_of_name(path.filename().string());
    if (step && fs::exists(path / kManifestName)) found.emplace_back(*step, path);
  }
  std::ranges::sort(found, std::ranges::greater());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

void publish_checkpoint(const fs::path& checkpoint) {
  const fs::path unfinished = unfinished_path(checkpoint);
  const bool replaces = fs::exists(checkpoint);
  rename_checkpoint(unfinished, checkpoint, replaces ? RENAME_EXCHANGE : 0);
  sync_directory(checkpoint.parent_path());
  if (replaces) remove_checkpoint_tree(unfinished);
}

void remove_old_checkpoints(const fs::path& directory, std::int64_t keep) {
  std::vector<fs::path> checkpoints = list_checkpoints(directory);
  if (keep == 0 || std::ssize(checkpoints) <= keep) return;
  checkpoints.erase(checkpoints.begin(), checkpoints.begin() + keep);
  for (const fs::path& checkpoint : checkpoints) {
    remove_checkpoint_tree(unfinished_path(checkpoint));
    rename_checkpoint(checkpoint, unfinished_path(checkpoint));
  }
  sync_directory(directory);
  for (const fs::path& checkpoint : checkpoints)
    remove_checkpoint_tree(unfinished_path(checkpoint));
}

void remove_unfinished_checkpoints(const fs::path& directory) {
  for (const fs::path& path : checkpoint_entries(directory)) {
    const std::string name = path.filename().string();
    if (name.starts_with(kCheckpointPrefix) && name.ends_with(kUnfinishedSuffix))
      remove_checkpoint_tree(path);
  }
}

}  // namespace parhelion::train
