#pragma once

#include "app/http/message.h"
#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace parhelion::app {

/// What a client is told of an error.
struct ApiError {
  int status = 400;
  std::string code;  ///< such as `invalid_value`
  std::string message;
  std::string param = {};          ///< the field at fault
  std::int64_t retry_seconds = 0;  ///< when to come again; 0: as usual for the status
};

/// An error that already says what its client is told. HTTP needs more than a kind: a status, a
/// code, the field.
class RefusedRequest : public Error {
 public:
  explicit RefusedRequest(ApiError error)
      : Error(ErrorKind::invalid, error.message), error_(std::move(error)) {}
  const ApiError& error() const noexcept { return error_; }

 private:
  ApiError error_;
};

/// Ends a request. Errors: always a RefusedRequest.
[[noreturn]] void refuse(int status, std::string_view code, std::string message,
                         std::string_view param = {});
/// The value of a field is wrong: 400 `invalid_value`.
[[noreturn]] void refuse_value(std::string_view param, std::string message);
/// What is asked for exists, but not here: 400 `unsupported_feature`.
[[noreturn]] void refuse_feature(std::string_view param, std::string message);

/// What the client is told of any error. Of those that are ours it learns no more than `incident`,
/// under which the log has them.
ApiError describe(const Error& error, std::string_view incident);

/// Which of the two shapes an error object has.
enum class ApiDialect : std::uint8_t { openai, anthropic };
/// Paths under /v1/messages speak the second.
ApiDialect dialect_of(std::string_view path);

/// The error as an object of JSON.
std::string error_body(const ApiError& error, ApiDialect dialect, std::string_view request_id);
/// The error as a whole reply.
HttpReply error_reply(const ApiError& error, ApiDialect dialect, std::string_view request_id);

}  // namespace parhelion::app
