#pragma once

#include "app/http/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parhelion::app {

/// How the bytes behind a head are told to end.
enum class BodyEnd : std::uint8_t {
  length,  ///< by their number
  chunks,  ///< in chunks, the last one empty
  close,   ///< with the connection
};

/// The head of a reply, up to its empty line. `stays_open`: another request may follow.
std::string write_head(const HttpReply& reply, BodyEnd end, bool stays_open);

/// `body` as one chunk.
std::string write_chunk(std::string_view body);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// Path and query of a request's target.
struct HttpTarget {
  std::string path;
  std::string query;
};

/// Takes a target apart and decodes the escapes of its path; nothing if an escape is broken or the
/// path is not one.
std::optional<HttpTarget> parse_target(std::string_view target);

/// Whether `text` may stand in a field as it is: visible ASCII, at most 128 characters, not empty.
bool is_plain_token(std::string_view text);

}  // namespace parhelion::app
