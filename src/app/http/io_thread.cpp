#include "app/http/io_thread.h"

#include "base/error.h"

#include <boost/asio/error.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

namespace parhelion::app {
namespace {

int make_event() {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  ensure(descriptor >= 0, ErrorKind::exhausted, "http: no event descriptor left");
  return descriptor;
}

}  // namespace

void ThreadBell::ring() noexcept {
  if (!is_listed_.exchange(true)) thread_.list(*this);
}

IoThread::IoThread() : wake_(context_, make_event()) { listen(); }

void IoThread::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

IoThread::~IoThread() {
  stop();
  for (ThreadBell* bell = rung_.exchange(nullptr); bell != nullptr;) {
    const std::shared_ptr<ThreadBell> kept = std::move(bell->self_);
    bell = bell->next_;
  }
}

void IoThread::start() {
  thread_ = std::jthread([this] { context_.run(); });
}

void IoThread::list(ThreadBell& bell) noexcept {
  bell.self_ = bell.shared_from_this();
  ThreadBell* head = rung_.load();
  do {
    bell.next_ = head;
  } while (!rung_.compare_exchange_weak(head, &bell));
  if (head != nullptr) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.native_handle(), &one, sizeof(one));
}

void IoThread::listen() {
  wake_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& code) {
                     if (code) return;
                     deliver();
                     listen();
                   });
}

void IoThread::deliver() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.native_handle(), &count, sizeof(count));
  for (ThreadBell* bell = rung_.exchange(nullptr); bell != nullptr;) {
    ThreadBell* const next = bell->next_;
    const std::shared_ptr<ThreadBell> kept = std::move(bell->self_);
    bell->is_listed_ = false;  // before the listener looks, so that no ring is lost
    if (bell->listener_) bell->listener_();
    bell = next;
  }
}

}  // namespace parhelion::app
