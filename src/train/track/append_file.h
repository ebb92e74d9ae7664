#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace parhelion::train {

/// A file that grows by whole pieces.
class AppendFile {
 public:
  /// Opens the file, or makes it.
  ///
  /// Errors: invalid if neither can be done.
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Writes all of `piece` to the end, visible to other processes at once, or nothing: then the
  /// result is false, and the first of such losses in a row is logged.
  bool append(std::string_view piece);

 private:
  bool write(std::string_view piece) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;  // of the pieces that are whole
  bool is_losing_ = false;
};

}  // namespace parhelion::train
