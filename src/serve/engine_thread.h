#pragma once

#include "serve/engine.h"
#include "serve/flight_recorder.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace parhelion::serve {

/// An engine and the thread that runs it. Destruction ends every sequence as cancelled.
class EngineThread final : public Server {
 public:
  /// Takes the engine over. `on_failure` hears, on the engine's thread, why the engine ended; every
  /// sink has had its finish by then, and later requests are refused.
  EngineThread(std::unique_ptr<Engine> engine, std::function<void(std::string_view)> on_failure);
  ~EngineThread() override;
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  Ticket submit(Request request, Sink& sink) override;
  void cancel(Ticket ticket) override;
  ServerCounts counts() const override;
  double seconds_since_progress() const override;
  /// What the last steps did, the oldest first; also of an engine that has failed.
  std::vector<StepRecord> recent_steps() const;

  /// Refuses later requests; those it has go on to their end.
  void drain();

  /// Calls `act` on the engine's thread between two steps and waits for it.
  ///
  /// Errors: what `act` throws; device if the engine has failed.
  void between_steps(const std::function<void(Engine&)>& act);

 private:
  using Clock = std::chrono::steady_clock;
  struct Visit {
    const std::function<void(Engine&)>* act = nullptr;
    std::exception_ptr error = nullptr;
    bool is_done = false;
  };

  void run(const std::stop_token& stop);
  void serve_until(const std::stop_token& stop);
  void take_commands();
  void mark_progress();
  void end(std::string_view why);

  std::unique_ptr<Engine> engine_;
  std::function<void(std::string_view)> on_failure_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::vector<std::unique_ptr<Sequence>>> added_;  // guarded by mutex_
  std::vector<Ticket> cancelled_;                              // guarded by mutex_
  Visit* visit_ = nullptr;                                     // guarded by mutex_
  std::condition_variable visited_;
  std::int64_t queued_ = 0;   // guarded by mutex_: sequences that were added or wait
  ServerCounts counts_;       // guarded by mutex_
  FlightRecorder recorder_;   // guarded by mutex_
  bool has_failed_ = false;   // guarded by mutex_
  bool is_draining_ = false;  // guarded by mutex_
  std::atomic<std::uint64_t> tickets_ = 0;
  std::atomic<Clock::rep> progress_ = 0;
  std::vector<std::vector<std::unique_ptr<Sequence>>> taken_;
  std::vector<Ticket> taken_cancelled_;
  std::jthread thread_;
};

}  // namespace parhelion::serve
