#pragma once

#include "app/http/http_server.h"
#include "app/http/io_thread.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace parhelion::app {

/// What the connections of a server share.
struct ConnectionShared {
  HttpHandler& handler;
  HttpLimits limits;
  std::atomic<std::int64_t> connections = 0;
  std::atomic<bool> is_draining = false;
};

/// One client, from its first byte to its last.
///
/// Threads: its IoThread's.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, IoThread& thread, ConnectionShared& shared);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves requests until the client or the server has enough.
  boost::asio::awaitable<void> run();
  /// Says that there is no room, and goes.
  boost::asio::awaitable<void> turn_away();
  /// Ends at once if it waits for a request, else behind its answer.
  void drain();
  /// Cancels the answer and closes.
  void abort();

 private:
  struct Turn;
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> read_head(Turn& turn);
  boost::asio::awaitable<bool> read_body(Turn& turn);
  boost::asio::awaitable<bool> answer(Turn& turn);
  boost::asio::awaitable<void> follow(Turn& turn, ReplySource& source);
  boost::asio::awaitable<void> send_new(Turn& turn, Pull pull, const ReplySource& source);
  boost::asio::awaitable<bool> wait_for_news(const ReplySource& source);
  boost::asio::awaitable<void> wait_for_release(ReplySource& source);
  boost::asio::awaitable<void> watch(std::int64_t turn);
  boost::asio::awaitable<void> refuse(Turn& turn, HttpReply reply);
  boost::asio::awaitable<void> send(Turn& turn, std::string bytes);
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<bool> refuse_head(Turn& turn, const boost::system::error_code& code);
  std::optional<HttpReply> code_reply(HttpRequest& head,
                                      const boost::system::error_code& code) const;
  void wake();
  bool is_over() const { return client_left_ || is_aborted_; }

  boost::beast::tcp_stream stream_;
  ConnectionShared& shared_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer news_;
  std::shared_ptr<ThreadBell> bell_;
  std::int64_t turn_ = 0;  // counts up where an answer begins and ends
  bool has_rung_ = false;
  bool is_idle_ = false;
  bool client_left_ = false;
  bool is_slow_ = false;
  bool is_aborted_ = false;
};

}  // namespace parhelion::app
