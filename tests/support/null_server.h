#pragma once

#include "serve/request.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace parhelion::test {

/// How a NullServer answers.
struct NullModel {
  std::int32_t vocabulary = 0;
  std::int64_t context_tokens = 1 << 20;
  std::vector<std::int32_t> stop_ids = {};
  std::int64_t queue = 1 << 20;  ///< sequences that may be there at a time
  std::int64_t width = 4;        ///< of vectors: number i is that of ids whose remainder by it is i
  /// The id that sequence `sequence` of a request draws as its number `index`; absent: a function
  /// of the seed, among all ids but the stop ids.
  std::function<std::int32_t(const serve::Request&, std::int64_t sequence, std::int64_t index)>
      draw = {};
  /// Whether a request ends with numeric_failure at its first draw; absent: none does.
  std::function<bool(const serve::Request&)> fails = {};
  std::chrono::microseconds step{0};  ///< least time of a step
};

/// A server without a model. Each step gives every sequence one token; ports, stop ids and lengths
/// are obeyed as a server must.
class NullServer : public serve::Server {
 public:
  explicit NullServer(NullModel model);
  ~NullServer() override;
  NullServer(const NullServer&) = delete;
  NullServer& operator=(const NullServer&) = delete;

  serve::Ticket submit(serve::Request request, serve::Sink& sink) override;
  void cancel(serve::Ticket ticket) override;
  serve::ServerCounts counts() const override;
  double seconds_since_progress() const override { return stalled_seconds_; }

  /// Stops stepping until it is let go on.
  void pause();
  void resume();
  /// What seconds_since_progress tells.
  void set_stalled(double seconds) { stalled_seconds_ = seconds; }
  /// Requests that were taken so far, as they came.
  std::vector<serve::Request> requests() const;

 private:
  struct Sequence {
    std::uint64_t ticket = 0;
    std::shared_ptr<const serve::Request> request;
    serve::Sink* sink = nullptr;
    std::int64_t number = 0;
    std::int64_t drawn = 0;
    std::unique_ptr<serve::TokenMask> mask = {};
    std::unique_ptr<serve::StopFilter> filter = {};
    std::vector<std::uint32_t> allowed = {};
    bool is_cancelled = false;
  };
  void run(const std::stop_token& stop);
  bool step(Sequence& sequence);
  bool finish(Sequence& sequence, serve::FinishReason reason, std::int32_t stop_id = -1);
  std::int32_t draw(Sequence& sequence);
  std::vector<float> embed(const serve::Request& request) const;
  bool is_stop(const Sequence& sequence, std::int32_t id) const;
  void check(const serve::Request& request) const;

  NullModel model_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Sequence> arrived_;           // guarded by mutex_
  std::vector<std::uint64_t> cancelled_;  // guarded by mutex_
  std::vector<serve::Request> requests_;  // guarded by mutex_
  bool is_paused_ = false;                // guarded by mutex_
  std::uint64_t next_ticket_ = 1;         // guarded by mutex_
  std::list<Sequence> running_;           // of the thread
  std::atomic<std::int64_t> count_ = 0;   // sequences that have not finished
  std::atomic<std::int64_t> drawn_ = 0;
  std::atomic<double> stalled_seconds_ = 0;
  std::jthread thread_;
};

}  // namespace parhelion::test
