#include "app/http/http_server.h"

#include "app/http/connection.h"
#include "app/http/io_thread.h"
#include "base/error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <optional>

namespace parhelion::app {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

constexpr auto kAwaitServer = asio::as_tuple(asio::use_awaitable);

Tcp::endpoint endpoint_of(const HttpOptions& options) {
  Code code;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const auto address = asio::ip::make_address(host, code);
  ensure(!code, ErrorKind::invalid, "host: is '{}', expected an address of this machine",
         options.host);
  return {address, options.port};
}

/// A thread and the connections it has or had.
struct Worker {
  IoThread thread;
  std::vector<std::weak_ptr<Connection>> connections = {};  // of the thread alone

  std::size_t most = 64;  // connections until the next look at which are gone

  void add(const std::shared_ptr<Connection>& connection) {
    if (connections.size() >= most) {
      std::erase_if(connections, [](const auto& each) { return each.expired(); });
      most = std::max<std::size_t>(64, 2 * connections.size());
    }
    connections.push_back(connection);
  }
  template <class Act>
  void for_each(Act act) {
    asio::post(thread.context(), [this, act] {
      for (const auto& each : connections) {
        if (const auto connection = each.lock()) act(*connection);
      }
    });
  }
};

}  // namespace

/// The listening socket and the threads behind it.
class HttpTransport {
 public:
  HttpTransport(const HttpOptions& options, HttpHandler& handler)
      : shared_{.handler = handler, .limits = options.limits} {
    for (int i = 0; i < std::max(1, options.threads); ++i)
      workers_.push_back(std::make_unique<Worker>());
    listen(endpoint_of(options));
    asio::co_spawn(workers_.front()->thread.context(), accept(), asio::detached);
    for (const auto& worker : workers_) worker->thread.start();
  }

  ~HttpTransport() {
    drain();
    abort();
    while (shared_.connections > 0) std::this_thread::yield();
    // A thread may still walk the connections, or accept one for another thread.
    for (const auto& worker : workers_) worker->thread.stop();
  }
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  std::uint16_t port() const { return port_; }
  std::int64_t connections() const { return shared_.connections; }

  void drain() {
    shared_.is_draining = true;
    asio::post(workers_.front()->thread.context(), [this] {
      Code ignored;
      acceptor_->close(ignored);
    });
    for (const auto& worker : workers_) worker->for_each([](Connection& each) { each.drain(); });
  }
  void abort() {
    for (const auto& worker : workers_) worker->for_each([](Connection& each) { each.abort(); });
  }

 private:
  void listen(const Tcp::endpoint& endpoint) {
    acceptor_.emplace(workers_.front()->thread.context());
    Code code;
    acceptor_->open(endpoint.protocol(), code);
    if (!code) acceptor_->set_option(asio::socket_base::reuse_address(true), code);
    if (!code) acceptor_->bind(endpoint, code);
    if (!code) acceptor_->listen(asio::socket_base::max_listen_connections, code);
    ensure(!code, ErrorKind::invalid, "http: cannot listen at {} port {}: {}",
           endpoint.address().to_string(), endpoint.port(), code.message());
    port_ = acceptor_->local_endpoint().port();
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(acceptor_->get_executor());
    for (std::size_t turn = 0; !shared_.is_draining; ++turn) {
      Worker& worker = *workers_[turn % workers_.size()];
      Tcp::socket socket(worker.thread.context());
      const auto [code] = co_await acceptor_->async_accept(socket, kAwaitServer);
      if (shared_.is_draining) co_return;
      if (!code && admits(worker, std::move(socket))) continue;
      pause.expires_after(
          std::chrono::milliseconds(50));  // out of descriptors or memory: some may be freed
      co_await pause.async_wait(kAwaitServer);
    }
  }

  /// False: there was no memory for it.
  bool admits(Worker& worker, Tcp::socket socket) {
    try {
      admit(worker, std::move(socket));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  void admit(Worker& worker, Tcp::socket socket) {
    const bool has_room = shared_.connections < shared_.limits.connections;
    const auto connection = std::make_shared<Connection>(std::move(socket), worker.thread, shared_);
    asio::post(worker.thread.context(), [&worker, connection, has_room] {
      worker.add(connection);
      asio::co_spawn(worker.thread.context(),
                     has_room ? connection->run() : connection->turn_away(), asio::detached);
    });
  }

  ConnectionShared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Tcp::acceptor> acceptor_;
  std::uint16_t port_ = 0;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler& handler)
    : transport_(std::make_unique<HttpTransport>(options, handler)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return transport_->port(); }
std::int64_t HttpServer::connections() const { return transport_->connections(); }
void HttpServer::drain() { transport_->drain(); }
void HttpServer::abort() { transport_->abort(); }

}  // namespace parhelion::app
