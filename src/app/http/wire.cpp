#include "app/http/wire.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace parhelion::app {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode_escapes(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

}  // namespace

std::string write_head(const HttpReply& reply, BodyEnd end, bool stays_open) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\ndate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", reply.status,
                  reason_phrase(reply.status), fmt::gmtime(std::time(nullptr)));
  if (!reply.content_type.empty()) head += "content-type: " + reply.content_type + "\r\n";
  for (const HttpField& field : reply.fields) head += field.first + ": " + field.second + "\r\n";
  if (end == BodyEnd::length) head += fmt::format("content-length: {}\r\n", reply.body.size());
  if (end == BodyEnd::chunks) head += "transfer-encoding: chunked\r\n";
  if (!stays_open) head += "connection: close\r\n";
  return head + "\r\n";
}

std::string write_chunk(std::string_view body) {
  std::string chunk = fmt::format("{:x}\r\n", body.size());
  chunk.reserve(chunk.size() + body.size() + 2);
  chunk += body;
  chunk += "\r\n";
  return chunk;
}

std::optional<HttpTarget> parse_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t mark = target.find('?');
  const std::optional<std::string> path = decode_escapes(target.substr(0, mark));
  if (!path) return std::nullopt;
  return HttpTarget{
      *path, mark == std::string_view::npos ? std::string() : std::string(target.substr(mark + 1))};
}

bool is_plain_token(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace parhelion::app
