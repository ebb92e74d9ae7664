#include "app/http/connection.h"

#include "app/http/wire.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace parhelion::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Code = boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

// Errors are values in all coroutines.
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadAhead = 64 << 10;  // of requests behind the one being answered

std::string to_string(beast::string_view text) { return {text.data(), text.size()}; }

std::vector<HttpField> fields_of(const Parser& parser) {
  std::vector<HttpField> fields;
  for (const auto& field : parser.get())
    fields.emplace_back(to_string(field.name_string()), to_string(field.value()));
  return fields;
}

bool is_limit(const Code& code) {
  return code == http::error::header_limit || code == http::error::buffer_overflow;
}

/// The client, not the network, is at fault.
bool is_malformed(const Code& code) {
  return code.category() == make_error_code(http::error::bad_method).category() &&
         code != http::error::end_of_stream && code != http::error::partial_message;
}

}  // namespace

/// One request and the sending of its answer.
struct Connection::Turn {
  std::optional<Parser> parser;
  HttpRequest request;
  HttpReply reply;
  bool stays_open = true;
  bool takes_chunks = true;  // HTTP/1.1
  bool has_sent_head = false;
  bool has_failed = false;  // nothing more can be written
  std::int64_t bytes = 0;   // sent

  /// Takes what was read of the head. False: its target is no path.
  bool note_head() {
    const auto& message = parser->get();
    stays_open = message.keep_alive();
    takes_chunks = message.version() == 11;
    request.method = to_string(message.method_string());
    request.fields = fields_of(*parser);
    const auto target = parse_target({message.target().data(), message.target().size()});
    if (!target) return false;
    request.path = target->path;
    request.query = target->query;
    return true;
  }
  /// Whether everybody on the way sees the body end at the same place (RFC 9112, 6.1).
  bool ends_plainly() const {
    const auto is_coding = [](const HttpField& field) {
      return same_field(field.first, "transfer-encoding");
    };
    const auto codings = std::ranges::count_if(request.fields, is_coding);
    if (codings == 0) return true;
    return codings == 1 && takes_chunks &&
           same_field(request.field("transfer-encoding"), "chunked");
  }
  bool wants_body() const { return request.method != "HEAD"; }
  /// A reply that is sent at once.
  std::string whole_reply() const {
    return write_head(reply, BodyEnd::length, stays_open) + (wants_body() ? reply.body : "");
  }
};

Connection::Connection(asio::ip::tcp::socket socket, IoThread& thread, ConnectionShared& shared)
    : stream_(std::move(socket)),
      shared_(shared),
      news_(thread.context()),
      bell_(std::make_shared<ThreadBell>(thread, [this] {
        has_rung_ = true;
        news_.cancel();
      })) {
  ++shared_.connections;
}

Connection::~Connection() {
  bell_->silence();
  --shared_.connections;
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  Code code;
  stream_.socket().non_blocking(true, code);
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), code);
  while (co_await serve_one()) {
  }
  stream_.close();
}

asio::awaitable<void> Connection::turn_away() {
  const auto self = shared_from_this();
  Turn turn;
  HttpReply reply = shared_.handler.refuse(503, "overloaded", "too many connections", turn.request);
  co_await refuse(turn, std::move(reply));
  stream_.close();
}

void Connection::drain() {
  if (is_idle_) stream_.cancel();
}

void Connection::abort() {
  is_aborted_ = true;
  news_.cancel();
  stream_.cancel();
}

void Connection::wake() { news_.cancel(); }

/// Answers one request. False: the connection ends.
asio::awaitable<bool> Connection::serve_one() {
  Turn turn;
  turn.parser.emplace();
  if (!co_await read_head(turn)) co_return false;
  if (auto early = shared_.handler.refuse_early(turn.request)) {
    co_await refuse(turn, std::move(*early));
    co_return false;
  }
  if (!co_await read_body(turn)) co_return false;
  co_return co_await answer(turn);
}

asio::awaitable<bool> Connection::read_head(Turn& turn) {
  if (shared_.is_draining || is_aborted_) co_return false;
  if (buffer_.size() == 0) {
    is_idle_ = true;
    stream_.expires_after(shared_.limits.idle_time);
    const auto [code, count] = co_await stream_.async_read_some(buffer_.prepare(8192), kAwait);
    is_idle_ = false;
    if (code) co_return false;
    buffer_.commit(count);
  }
  turn.parser->header_limit(static_cast<std::uint32_t>(shared_.limits.head_bytes));
  turn.parser->body_limit(static_cast<std::uint64_t>(shared_.limits.body_bytes));
  stream_.expires_after(shared_.limits.head_time);
  const auto [code, count] =
      co_await http::async_read_header(stream_, buffer_, *turn.parser, kAwait);
  const bool has_path = turn.note_head();
  if (code) co_return co_await refuse_head(turn, code);
  if (!has_path) {
    HttpReply reply =
        shared_.handler.refuse(400, "invalid_target", "the target is no path", turn.request);
    co_await refuse(turn, std::move(reply));
    co_return false;
  }
  if (!turn.ends_plainly()) {
    HttpReply reply = shared_.handler.refuse(
        501, "unsupported_transfer_encoding",
        "transfer-encoding: expected chunked alone, and HTTP/1.1", turn.request);
    co_await refuse(turn, std::move(reply));
    co_return false;
  }
  co_return true;
}

/// Answers a head that is none, or a body that does not fit.
asio::awaitable<bool> Connection::refuse_head(Turn& turn, const Code& code) {
  std::optional<HttpReply> reply = code_reply(turn.request, code);
  if (reply) co_await refuse(turn, std::move(*reply));
  co_return false;
}

/// The reply to a failure of reading; none where the network or the client's patience is at fault.
std::optional<HttpReply> Connection::code_reply(HttpRequest& head, const Code& code) const {
  HttpHandler& handler = shared_.handler;
  const HttpLimits& limits = shared_.limits;
  if (code == http::error::body_limit) {
    return handler.refuse(413, "body_too_large",
                          fmt::format("the body is larger than {} bytes", limits.body_bytes), head);
  }
  if (is_limit(code)) {
    return handler.refuse(431, "head_too_large",
                          fmt::format("the head is larger than {} bytes", limits.head_bytes), head);
  }
  if (!is_malformed(code)) return std::nullopt;
  return handler.refuse(400, "invalid_request",
                        fmt::format("no HTTP/1.1 request: {}", code.message()), head);
}

asio::awaitable<bool> Connection::read_body(Turn& turn) {
  if (turn.parser->is_done()) co_return true;
  stream_.expires_after(shared_.limits.body_time);
  if (same_field(turn.request.field("expect"), "100-continue"))
    co_await send(turn, "HTTP/1.1 100 Continue\r\n\r\n");
  if (turn.has_failed) co_return false;
  stream_.expires_after(shared_.limits.body_time);
  const auto [code, count] = co_await http::async_read(stream_, buffer_, *turn.parser, kAwait);
  if (code) co_return co_await refuse_head(turn, code);
  turn.request.body = std::move(turn.parser->get().body());
  co_return true;
}

asio::awaitable<bool> Connection::answer(Turn& turn) {
  ++turn_;
  client_left_ = is_slow_ = has_rung_ = false;
  HandlerReply made = shared_.handler.handle(turn.request, bell_);
  turn.request.body = {};  // an answer may take long
  turn.reply = std::move(made.reply);
  std::string_view end = "done";
  if (made.source) {
    asio::co_spawn(
        stream_.get_executor(),
        [self = shared_from_this(), turn_number = turn_] { return self->watch(turn_number); },
        asio::detached);
    co_await follow(turn, *made.source);
    if (is_slow_)
      end = "client_slow";
    else if (client_left_ || turn.has_failed)
      end = "client_closed";
    else if (is_aborted_)
      end = "aborted";
    ++turn_;  // the watcher of this answer touches nothing any more
    Code ignored;
    stream_.socket().cancel(ignored);
  } else {
    turn.stays_open = turn.stays_open && !shared_.is_draining;
    co_await send(turn, turn.whole_reply());
  }
  shared_.handler.finished(turn.request, turn.reply.status, turn.bytes, end);
  co_return turn.stays_open && !turn.has_failed && !is_over() && !shared_.is_draining;
}

/// Sends what a source tells until it is complete or nobody reads.
asio::awaitable<void> Connection::follow(Turn& turn, ReplySource& source) {
  Pull pull = Pull::waiting;
  while (pull == Pull::waiting && !turn.has_failed) {
    has_rung_ = false;
    turn.reply.body.clear();
    pull = source.pull(turn.reply);
    co_await send_new(turn, pull, source);
    if (pull == Pull::complete || turn.has_failed) break;
    if (has_rung_) continue;
    const bool has_news = co_await wait_for_news(source);
    if (is_over()) break;
    if (has_news || !source.streams()) continue;
    turn.reply.body.clear();
    source.keep_alive(turn.reply);
    co_await send_new(turn, Pull::waiting, source);
  }
  const bool was_read = pull == Pull::complete && !turn.has_failed;
  if (!was_read)
    source.cancel(is_slow_ ? "client_slow" : is_aborted_ ? "aborted" : "client_closed");
  co_await wait_for_release(source);
}

/// Sends what is new of the body; the head before it, where it was not sent.
asio::awaitable<void> Connection::send_new(Turn& turn, Pull pull, const ReplySource& source) {
  const bool is_whole = pull == Pull::complete && !turn.has_sent_head;
  if (!is_whole && !source.streams()) co_return;
  if (!is_whole && turn.reply.body.empty() && pull == Pull::waiting) co_return;
  const BodyEnd end = is_whole            ? BodyEnd::length
                      : turn.takes_chunks ? BodyEnd::chunks
                                          : BodyEnd::close;
  std::string bytes;
  if (!turn.has_sent_head) {
    turn.stays_open = turn.stays_open && !shared_.is_draining && end != BodyEnd::close;
    bytes = write_head(turn.reply, end, turn.stays_open);
    turn.has_sent_head = true;
  }
  if (turn.wants_body() && end != BodyEnd::chunks) {
    bytes += turn.reply.body;
  } else if (turn.wants_body()) {
    if (!turn.reply.body.empty()) bytes += write_chunk(turn.reply.body);
    if (pull == Pull::complete) bytes += kLastChunk;
  }
  co_await send(turn, std::move(bytes));
}

/// Waits until the bell rings, somebody leaves or the source's time is over; false: nothing came
/// for a while.
asio::awaitable<bool> Connection::wait_for_news(const ReplySource& source) {
  if (has_rung_ || is_over()) co_return true;
  const auto silence = std::chrono::steady_clock::now() + shared_.limits.keep_alive;
  const bool ends_first = source.deadline() <= silence;
  news_.expires_at(std::min(silence, source.deadline()));
  const auto [code] = co_await news_.async_wait(kAwait);
  co_return ends_first || code == asio::error::operation_aborted;
}

asio::awaitable<void> Connection::wait_for_release(ReplySource& source) {
  for (has_rung_ = false; !source.is_released(); has_rung_ = false) {
    if (!has_rung_) {
      news_.expires_after(std::chrono::seconds(1));
      co_await news_.async_wait(kAwait);
    }
  }
}

/// Notices that the client leaves while it is answered; requests it sends meanwhile are kept.
asio::awaitable<void> Connection::watch(std::int64_t turn) {
  const auto self = shared_from_this();
  while (buffer_.size() < kReadAhead) {
    const auto [code] = co_await stream_.socket().async_wait(asio::socket_base::wait_read, kAwait);
    if (turn != turn_) co_return;
    Code failure = code;
    std::size_t count = 0;
    if (!failure) count = stream_.socket().read_some(buffer_.prepare(4096), failure);
    if (failure == asio::error::would_block || failure == asio::error::try_again) continue;
    if (failure) {
      client_left_ = true;
      wake();
      co_return;
    }
    buffer_.commit(count);
  }
}

asio::awaitable<void> Connection::send(Turn& turn, std::string bytes) {
  if (turn.has_failed) co_return;
  stream_.expires_after(shared_.limits.write_time);
  const auto [code, count] = co_await asio::async_write(stream_, asio::buffer(bytes), kAwait);
  turn.bytes += static_cast<std::int64_t>(count);
  stream_.expires_never();
  if (!code) co_return;
  turn.has_failed = true;
  is_slow_ = code == beast::error::timeout;
}

/// Sends a reply whose request was not read to its end, and closes so that it arrives.
asio::awaitable<void> Connection::refuse(Turn& turn, HttpReply reply) {
  turn.reply = std::move(reply);
  turn.stays_open = false;
  co_await send(turn, turn.whole_reply());
  shared_.handler.finished(turn.request, turn.reply.status, turn.bytes, "refused");
  if (!turn.has_failed) co_await linger();
}

/// Reads on for a moment: closing over unread bytes would take the reply back from the client.
asio::awaitable<void> Connection::linger() {
  Code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  std::array<char, 8192> bytes{};
  for (int reads = 0; reads < 4096; ++reads) {
    const auto [code, count] = co_await stream_.async_read_some(asio::buffer(bytes), kAwait);
    if (code) break;
  }
}

}  // namespace parhelion::app
