#include "app/cli/line_writer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

namespace parhelion::app {
namespace {

constexpr std::chrono::seconds kLastWait{1};

/// False: nobody reads any more.
bool write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

struct LineWriter::Shared {
  int descriptor;
  std::function<std::string(std::int64_t)> tell_dropped;
  std::size_t most_bytes;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;  // guarded by mutex, and so on
  std::int64_t waiting_lines = 0;
  std::int64_t dropped = 0;
  std::int64_t told = 0;  // of the dropped
  bool is_writing = false;
  bool ends = false;

  /// What to write next; empty at the end.
  std::string take(std::int64_t& lines) {
    std::unique_lock lock(mutex);
    is_writing = false;
    changed.notify_all();
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (dropped > told && !waiting.empty()) {
      waiting += tell_dropped(dropped - told) + '\n';
      told = dropped;
    }
    lines = std::exchange(waiting_lines, 0);
    is_writing = !waiting.empty();
    return std::exchange(waiting, {});
  }

  void run() {
    std::int64_t lines = 0;
    for (std::string bytes = take(lines); !bytes.empty(); bytes = take(lines)) {
      if (write_whole(descriptor, bytes)) continue;
      const std::lock_guard lock(mutex);
      dropped += lines;
    }
  }
};

LineWriter::LineWriter(int descriptor, std::function<std::string(std::int64_t)> tell_dropped,
                       std::size_t most_bytes)
    : shared_(std::make_shared<Shared>()) {
  shared_->descriptor = descriptor;
  shared_->tell_dropped = std::move(tell_dropped);
  shared_->most_bytes = most_bytes;
  std::thread([shared = shared_] { shared->run(); }).detach();
}

LineWriter::~LineWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLastWait,
                            [this] { return shared_->waiting.empty() && !shared_->is_writing; });
}

void LineWriter::write(std::string_view line) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() + line.size() + 1 > shared_->most_bytes) {
    ++shared_->dropped;
    return;
  }
  shared_->waiting.append(line).push_back('\n');
  ++shared_->waiting_lines;
  shared_->changed.notify_all();
}

std::int64_t LineWriter::dropped_lines() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}

}  // namespace parhelion::app
