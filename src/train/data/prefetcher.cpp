#include "train/data/prefetcher.h"

#include <utility>

namespace parhelion::train {

Prefetcher::Prefetcher(Source source, std::int64_t ahead)
    : source_(std::move(source)), ahead_(static_cast<std::size_t>(ahead)) {
  if (ahead_ > 0) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Prefetcher::~Prefetcher() = default;

std::optional<Pack> Prefetcher::next() {
  Item item = ahead_ > 0 ? take() : fetch(source_);
  if (item.error) std::rethrow_exception(item.error);
  return std::move(item.pack);
}

/// A thread ends at its errors, so they are handed over.
Prefetcher::Item Prefetcher::fetch(const Source& source) noexcept {
  try {
    return {source(), nullptr};
  } catch (...) {
    return {std::nullopt, std::current_exception()};
  }
}

void Prefetcher::run(const std::stop_token& stop) {
  bool is_running = true;
  while (is_running) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return ready_.size() < ahead_; })) return;
    lock.unlock();
    Item item = fetch(source_);
    is_running = !is_last(item);
    lock.lock();
    ready_.push_back(std::move(item));
    changed_.notify_all();
  }
}

/// The end stays, for whoever asks again.
Prefetcher::Item Prefetcher::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  if (is_last(ready_.front())) return ready_.front();
  Item item = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return item;
}

}  // namespace parhelion::train
