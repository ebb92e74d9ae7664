#include "prepare/work_directory.h"

#include "base/error.h"
#include "base/write_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace parhelion::prepare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockName = "preparation.lock";
constexpr std::string_view kKeptBegin = "weights.";

bool is_kept_work(const fs::path& path) { return path.filename().string().starts_with(kKeptBegin); }

std::vector<fs::path> kept_work(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (is_kept_work(entry.path())) paths.push_back(entry.path());
  return paths;
}

void make_work_directory(const fs::path& path) {
  std::error_code error;
  const bool is_new = fs::create_directory(path, error);
  ensure(!error, kind_of_write_error(error.value()), "{}: cannot make this directory: {}",
         path.string(), error.message());
  ensure(is_new || fs::is_empty(path) || fs::exists(path / kLockName), ErrorKind::invalid,
         "{}: has files of others, expected the work of a preparation or nothing", path.string());
}

}  // namespace

WorkDirectory::WorkDirectory(fs::path path) : path_(std::move(path)) {
  make_work_directory(path_);
  const fs::path lock = path_ / kLockName;
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ensure(lock_ >= 0, ErrorKind::invalid, "{}: cannot write: {}", lock.string(),
         std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(std::exchange(lock_, -1));
  fail(ErrorKind::invalid, "{}: another process prepares in this directory", path_.string());
}

WorkDirectory::~WorkDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

void WorkDirectory::drop_others(std::string_view key, const Tell& tell) const {
  bool has_dropped = false;
  for (const fs::path& path : kept_work(path_)) {
    if (path.stem() == work_file(path_, key, "x").stem()) continue;
    fs::remove(path);
    has_dropped = true;
  }
  if (has_dropped)
    tell(fmt::format("{}: has weights of other inputs; they are made anew", path_.string()));
}

void WorkDirectory::remove() noexcept {
  std::error_code error;
  for (const fs::path& path : kept_work(path_)) fs::remove(path, error);
  fs::remove(path_ / kLockName, error);
  fs::remove(path_, error);  // fails, as it should, where others have put files
}

fs::path work_file(const fs::path& directory, std::string_view key, std::string_view ending) {
  return directory / fmt::format("{}{}.{}", kKeptBegin, key, ending);
}

}  // namespace parhelion::prepare
