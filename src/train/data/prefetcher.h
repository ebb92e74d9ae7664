#pragma once

#include "train/data/batch_stream.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace parhelion::train {

/// Packs of a stream, made ready by a thread of its own while earlier ones are trained on.
///
/// Threads: one consumer.
class Prefetcher {
 public:
  using Source = std::function<std::optional<Pack>()>;

  /// Starts at once. `source` belongs to the thread; `ahead` 0 calls it in `next` instead.
  Prefetcher(Source source, std::int64_t ahead);
  /// Stops after the pack that is being made.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next pack, or none at the end of the data. Its `after` is what a checkpoint holds,
  /// whatever has been made ready since.
  ///
  /// Errors: those of the source, once the packs before it are handed out, and again on each call.
  std::optional<Pack> next();

 private:
  /// A pack, the end, or what stopped the source.
  struct Item {
    std::optional<Pack> pack;
    std::exception_ptr error;
  };
  static Item fetch(const Source& source) noexcept;
  static bool is_last(const Item& item) { return !item.pack; }
  void run(const std::stop_token& stop);
  Item take();

  Source source_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Item> ready_;  // guarded by mutex_
  std::jthread thread_;     // last: it uses the others
};

}  // namespace parhelion::train
