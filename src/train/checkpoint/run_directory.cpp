#include "train/checkpoint/run_directory.h"

#include "base/error.h"
#include "train/checkpoint/checkpoint_directory.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace parhelion::train {
namespace {

namespace fs = std::filesystem;

void make_run_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  ensure(!error && fs::is_directory(directory), ErrorKind::invalid,
         "{}: cannot make this directory: {}", directory.string(),
         error ? error.message() : "a file has its name");
}

/// The number that the holder of the lock wrote, or words if it has not yet.
std::string lock_holder(int lock) {
  std::array<char, 32> text{};
  const auto count = ::pread(lock, text.data(), text.size(), 0);
  if (count <= 0) return "of unknown number";
  return std::string(text.data(), static_cast<std::size_t>(count));
}

int open_lock(const fs::path& path) {
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ensure(lock >= 0, ErrorKind::invalid, "{}: cannot write: {}", path.string(),
         std::strerror(errno));
  return lock;
}

/// Locks the open file without waiting.
void take_lock(int lock, const fs::path& directory) {
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return;
  ensure(errno == EWOULDBLOCK, ErrorKind::invalid, "{}: cannot lock: {}", directory.string(),
         std::strerror(errno));
  fail(ErrorKind::invalid, "{}: another job (process {}) trains in this directory",
       directory.string(), lock_holder(lock));
}

void write_holder(int lock, const fs::path& path) {
  const std::string text = std::to_string(::getpid());
  const bool written = ::ftruncate(lock, 0) == 0 && ::pwrite(lock, text.data(), text.size(), 0) ==
                                                        static_cast<ssize_t>(text.size());
  ensure(written, ErrorKind::invalid, "{}: cannot write: {}", path.string(), std::strerror(errno));
}

}  // namespace

RunPaths run_paths(const fs::path& directory) {
  return {.directory = directory,
          .job = directory / "job.json",
          .lock = directory / "lock",
          .cache = directory / "cache",
          .checkpoints = directory / "checkpoints",
          .metrics = directory / "metrics.jsonl",
          .log = directory / "train.log",
          .tensorboard = directory / "tensorboard",
          .loss_curve = directory / "loss.svg"};
}

RunDirectory::RunDirectory(const fs::path& directory) : paths_(run_paths(directory)) {
  make_run_directory(paths_.checkpoints);
  lock_ = open_lock(paths_.lock);
  try {
    take_lock(lock_, directory);
    write_holder(lock_, paths_.lock);
    remove_unfinished_checkpoints(paths_.checkpoints);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() { ::close(lock_); }

}  // namespace parhelion::train
