#pragma once

#include "serve/request.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace parhelion::app {

/// The requests that a server works on, so that all can be ended.
///
/// Threads: any.
class ActiveTickets {
 public:
  explicit ActiveTickets(serve::Server& server) : server_(server) {}
  serve::Server& server() const { return server_; }
  /// `request_id`: by which an operator may cancel it.
  void add(serve::Ticket ticket, const std::string& request_id);
  void remove(serve::Ticket ticket);
  void cancel_all();
  /// Cancels those of a request; how many there were.
  std::int64_t cancel(std::string_view request_id);
  std::int64_t count() const;

 private:
  serve::Server& server_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> ids_;  // by number, guarded by mutex_
};

/// A sink and the request that a server was given with it. Whatever goes wrong, the sink stays
/// until the server has let go of it: it is cancelled, if it must be, and waited for.
///
/// Threads: the connection's. `Kind` is a serve::Sink with `is_released()`.
template <class Kind>
class Submission {
 public:
  Submission(ActiveTickets& tickets, std::unique_ptr<Kind> sink)
      : tickets_(&tickets), sink_(std::move(sink)) {}
  Submission(Submission&&) noexcept = default;
  Submission& operator=(Submission&&) = delete;
  ~Submission() {
    if (!sink_ || !ticket_) return;
    if (!sink_->is_released()) cancel();
    wait_for_release();
    tickets_->remove(*ticket_);
  }

  /// Errors: as serve::Server::submit; then nobody has the sink.
  void submit(serve::Request request, const std::string& request_id) {
    ticket_ = tickets_->server().submit(std::move(request), *sink_);
    tickets_->add(*ticket_, request_id);
  }
  void cancel() { tickets_->server().cancel(*ticket_); }
  /// Of a request that has ended or was cancelled: two steps of the server at most.
  void wait_for_release() const {
    while (!sink_->is_released()) std::this_thread::yield();
  }
  Kind& sink() const { return *sink_; }

 private:
  ActiveTickets* tickets_;
  std::unique_ptr<Kind> sink_;  // null: moved from
  std::optional<serve::Ticket> ticket_ = {};
};

}  // namespace parhelion::app
