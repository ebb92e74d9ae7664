#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace parhelion {

/// Reads a whole file.
///
/// Errors: invalid if it is missing or unreadable, or larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path,
                      std::int64_t max_bytes = std::int64_t{1} << 32);

/// A whole file mapped read-only, private to this object's life.
class MappedFile {
 public:
  /// Errors: invalid if it is missing, unreadable or no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A file that appears under its name only when complete: written beside it, synced, then renamed
/// over it. Without `commit` nothing stays behind.
class AtomicFile {
 public:
  /// Errors: exhausted if the disk is full, else invalid if the file cannot be made. The same for
  /// write and commit.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Makes the file durable and visible. Call once.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// A directory that is made empty, and removed with all that lies in it when this object ends,
/// unless it was renamed.
class TemporaryDirectory {
 public:
  /// What has its name before is removed.
  ///
  /// Errors: exhausted if the disk is full, else invalid if it cannot be made.
  explicit TemporaryDirectory(std::filesystem::path path);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Makes what was created, renamed or removed in `directory` durable.
///
/// Errors: invalid if it is no directory or cannot be synced.
void sync_directory(const std::filesystem::path& directory);

}  // namespace parhelion
