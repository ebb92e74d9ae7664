#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace parhelion::prepare {

/// Hears what people should know of kept work, a sentence at a time.
using Tell = std::function<void(std::string_view)>;

/// The directory in which a preparation keeps what it has made, for the next one if it is stopped.
/// It is ours alone while this object lives; the system lets it go however the process ends.
class WorkDirectory {
 public:
  /// Makes it, or takes one that is there.
  ///
  /// Errors: invalid if it cannot be made, another process prepares in it, or what is there has not
  ///         been made by a preparation; exhausted if the disk is full.
  explicit WorkDirectory(std::filesystem::path path);
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Removes kept work but what was made from the inputs named by `key`, and tells of it.
  void drop_others(std::string_view key, const Tell& tell) const;

  /// Removes the kept work, and the directory if nothing else lies in it.
  void remove() noexcept;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// The file of kept work that was made from the inputs named by `key`.
std::filesystem::path work_file(const std::filesystem::path& directory, std::string_view key,
                                std::string_view ending);

}  // namespace parhelion::prepare
