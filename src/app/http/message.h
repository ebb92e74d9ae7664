#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::app {

/// A header field of HTTP; names are compared without regard to case.
using HttpField = std::pair<std::string, std::string>;

/// What a client sent, read in full.
struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query
  std::string query;  ///< behind the `?`
  std::vector<HttpField> fields = {};
  std::string body = {};
  std::string id = {};        ///< of this request: the client's own, or made here
  std::string trace_id = {};  ///< of the trace that it belongs to; empty: none
  std::string label = {};     ///< of the key that it came with; empty without keys

  /// The value of a field, empty if it is not there.
  std::string_view field(std::string_view name) const;
};

/// A request without its body.
HttpRequest head_of(const HttpRequest& request);

/// What a client gets.
struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpField> fields = {};
  std::string body = {};
};

/// Whether two names of fields are the same.
bool same_field(std::string_view a, std::string_view b);

}  // namespace parhelion::app
