#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace parhelion::exec::cuda {

/// What planning found, kept in a directory from one process to the next.
class PlanFiles {
 public:
  /// An empty directory keeps nothing.
  explicit PlanFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// What was kept under `key`; none if nothing was, or, with a warning, if the file is damaged or
  /// another key's.
  std::optional<std::string> find(std::string_view key) const;

  /// Errors: exhausted if the disk is full, else invalid if the file cannot be made.
  void keep(std::string_view key, std::string_view content) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace parhelion::exec::cuda
