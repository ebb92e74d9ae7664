#pragma once

#include "app/http/reply_source.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace parhelion::app {

class IoThread;

/// Rings across threads: whoever rings puts the bell into a list of its thread, which is a pointer
/// within the bell, and wakes the thread if the list was empty.
class ThreadBell : public Bell, public std::enable_shared_from_this<ThreadBell> {
 public:
  ThreadBell(IoThread& thread, std::function<void()> listener)
      : thread_(thread), listener_(std::move(listener)) {}
  void ring() noexcept override;
  /// Nobody listens any more. Threads: the bell's own.
  void silence() { listener_ = nullptr; }

 private:
  friend class IoThread;
  IoThread& thread_;
  std::function<void()> listener_;
  std::atomic<bool> is_listed_ = false;
  ThreadBell* next_ = nullptr;
  std::shared_ptr<ThreadBell> self_;  // while it is listed
};

/// A thread with the connections that it serves.
class IoThread {
 public:
  IoThread();
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  boost::asio::io_context& context() { return context_; }
  void start();
  /// Returns when the thread has ended. What waits in its context stays there.
  void stop();

 private:
  friend class ThreadBell;
  void list(ThreadBell& bell) noexcept;
  void listen();
  void deliver();

  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor wake_;
  std::atomic<ThreadBell*> rung_ = nullptr;
  std::jthread thread_;
};

}  // namespace parhelion::app
