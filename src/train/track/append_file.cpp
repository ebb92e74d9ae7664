#include "train/track/append_file.h"

#include "base/error.h"
#include "base/log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace parhelion::train {

AppendFile::AppendFile(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  ensure(descriptor_ >= 0, ErrorKind::invalid, "{}: cannot open for writing: {}", path.string(),
         std::strerror(errno));
  size_ = ::lseek(descriptor_, 0, SEEK_END);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

bool AppendFile::append(std::string_view piece) {
  const bool is_written = write(piece);
  if (is_written) {
    size_ += static_cast<std::int64_t>(piece.size());
  } else if (!is_losing_) {
    log(LogLevel::warning, "{}: cannot write: {}; records are lost until it can", path_.string(),
        std::strerror(errno));
  }
  is_losing_ = !is_written;
  return is_written;
}

bool AppendFile::write(std::string_view piece) const {
  std::size_t done = 0;
  while (done < piece.size()) {
    const auto count = ::pwrite(descriptor_, piece.data() + done, piece.size() - done,
                                size_ + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int code = errno;
      [[maybe_unused]] const int shortened = ::ftruncate(descriptor_, size_);  // else overwritten
      errno = code;
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace parhelion::train
