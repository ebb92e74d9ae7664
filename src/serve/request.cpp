#include "serve/request.h"

#include "base/error.h"

namespace parhelion::serve {

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::numeric_failure:
      return "numeric_failure";
    case FinishReason::no_allowed_token:
      return "no_allowed_token";
    case FinishReason::rules_failed:
      return "rules_failed";
    case FinishReason::failed:
      return "failed";
  }
  fail(ErrorKind::bug, "finish reason {}: has no name", static_cast<int>(reason));
}

}  // namespace parhelion::serve
