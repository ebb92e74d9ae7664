#pragma once

#include "app/http/reply_source.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::app {

/// How much a client may take.
struct HttpLimits {
  std::int64_t head_bytes = 16 << 10;  ///< request line and fields
  std::int64_t body_bytes = 8 << 20;
  std::int64_t connections = 4096;
  std::chrono::milliseconds head_time{10'000};   ///< from the first byte to the end of the head
  std::chrono::milliseconds body_time{60'000};   ///< for the body
  std::chrono::milliseconds idle_time{60'000};   ///< between requests
  std::chrono::milliseconds write_time{30'000};  ///< for one write
  std::chrono::milliseconds keep_alive{15'000};  ///< between signs of life of a silent stream
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  int threads = 1;
  HttpLimits limits = {};
};

class HttpTransport;

/// Listens, reads requests, sends answers. HTTP/1.1, without encryption, which is a proxy's work.
///
/// Threads: own ones answer; any may call.
class HttpServer {
 public:
  /// Errors: invalid if the address is none or cannot be listened at.
  HttpServer(const HttpOptions& options, HttpHandler& handler);
  /// Ends what still runs.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::int64_t connections() const;
  /// Takes no more connections, and ends each behind its answer.
  void drain();
  /// Cancels all answers and closes all connections. They are gone some time later.
  void abort();

 private:
  std::unique_ptr<HttpTransport> transport_;
};

}  // namespace parhelion::app
