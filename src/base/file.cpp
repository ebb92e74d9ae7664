#include "base/file.h"

#include "base/error.h"
#include "base/write_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace parhelion {
namespace {

/// A file descriptor that closes itself.
struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ensure(descriptor >= 0, ErrorKind::invalid, "{}: cannot open: {}", path.string(),
           std::strerror(errno));
  }
  ~OpenFile() { ::close(descriptor); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// Errors: invalid unless it is a regular file.
  std::size_t size(const std::filesystem::path& path) const {
    struct stat status = {};
    ensure(::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode), ErrorKind::invalid,
           "{}: is no regular file", path.string());
    return static_cast<std::size_t>(status.st_size);
  }

  int descriptor;
};

}  // namespace

ErrorKind kind_of_write_error(int code) {
  return code == ENOSPC || code == EDQUOT || code == EFBIG ? ErrorKind::exhausted
                                                           : ErrorKind::invalid;
}

void write_all(int descriptor, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto count = ::write(descriptor, bytes.data(), bytes.size());
    ensure(count >= 0 || errno == EINTR, kind_of_write_error(errno), "{}: cannot write: {}",
           path.string(), std::strerror(errno));
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  const OpenFile file(path);
  const std::size_t size = file.size(path);
  ensure(size <= static_cast<std::size_t>(max_bytes), ErrorKind::invalid,
         "{}: has {} bytes, expected at most {}", path.string(), size, max_bytes);
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const auto count = ::read(file.descriptor, text.data() + done, size - done);
    ensure(count > 0, ErrorKind::invalid, "{}: cannot read byte {} of {}", path.string(), done,
           size);
    done += static_cast<std::size_t>(count);
  }
  return text;
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const OpenFile file(path);
  size_ = file.size(path);
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  ensure(data != MAP_FAILED, ErrorKind::exhausted, "{}: cannot map: {}", path.string(),
         std::strerror(errno));
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path), temporary_(path.string() + ".partial." + std::to_string(::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  ensure(descriptor_ >= 0, kind_of_write_error(errno), "{}: cannot create: {}", temporary_.string(),
         std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(descriptor_, bytes, path_); }

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  const bool synced = ::fsync(descriptor_) == 0;
  ensure(synced, kind_of_write_error(errno), "{}: cannot sync: {}", path_.string(),
         std::strerror(errno));
  const bool renamed = ::rename(temporary_.c_str(), path_.c_str()) == 0;
  ensure(renamed, ErrorKind::invalid, "{}: cannot rename: {}", path_.string(),
         std::strerror(errno));
  ::close(std::exchange(descriptor_, -1));
  sync_directory(path_.has_parent_path() ? path_.parent_path() : ".");
}

TemporaryDirectory::TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (!error) std::filesystem::create_directories(path_, error);
  ensure(!error, kind_of_write_error(error.value()), "{}: cannot make this directory: {}",
         path_.string(), error.message());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int code = errno;
  if (descriptor >= 0) ::close(descriptor);
  ensure(synced || code == EINVAL, ErrorKind::invalid, "{}: cannot sync: {}", directory.string(),
         std::strerror(code));  // EINVAL: a file system whose directories need no sync
}

}  // namespace parhelion
