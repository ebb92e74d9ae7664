#pragma once

#include "app/http/message.h"

#include <chrono>
#include <cstdint>
#include <memory>

namespace parhelion::app {

/// Wakes the connection that waits for a source.
///
/// Threads: any; does not block, throw or allocate.
class Bell {
 public:
  virtual ~Bell() = default;
  virtual void ring() noexcept = 0;
};

enum class Pull : std::uint8_t { waiting, complete };

/// An answer that takes time. It is pulled whenever its bell has rung, and tells what came since.
///
/// Threads: the connection's.
class ReplySource {
 public:
  virtual ~ReplySource() = default;
  /// Appends what is ready to the body. Until something was sent, status and fields may be set.
  virtual Pull pull(HttpReply& reply) = 0;
  /// Whether parts are sent as they come; else the reply is sent when it is complete.
  virtual bool streams() const = 0;
  /// Appends what keeps a silent stream alive.
  virtual void keep_alive(HttpReply& reply) = 0;
  /// It is pulled then even if nothing has come.
  virtual std::chrono::steady_clock::time_point deadline() const {
    return std::chrono::steady_clock::time_point::max();
  }
  /// Nobody reads any more, for the reason given.
  virtual void cancel(std::string_view reason) = 0;
  /// Whether the source may be destroyed: nobody else holds on to it. Where it is not complete, it
  /// must be cancelled before. The bell rings when it comes true.
  virtual bool is_released() = 0;
};

/// What a handler answers: at once, or through a source.
struct HandlerReply {
  HttpReply reply = {};
  std::unique_ptr<ReplySource> source = {};
};

/// Answers requests.
///
/// Threads: any number at a time.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Looks at a request before its body is read; a reply here ends it.
  virtual std::unique_ptr<HttpReply> refuse_early(HttpRequest& head) = 0;
  /// Does not throw. `bell` lives until the source is released.
  virtual HandlerReply handle(const HttpRequest& request, std::shared_ptr<Bell> bell) = 0;
  /// The reply to what is no proper request: its status, and what is wrong. Gives `head` an id, if
  /// it has none.
  virtual HttpReply refuse(int status, std::string_view code, std::string_view message,
                           HttpRequest& head) = 0;
  /// Hears of each answer's end: how many bytes were sent, and whether the client was there.
  virtual void finished(const HttpRequest& request, int status, std::int64_t bytes,
                        std::string_view reason) = 0;
};

}  // namespace parhelion::app
