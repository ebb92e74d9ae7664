#include "app/http/api_state.h"

#include <algorithm>

namespace parhelion::app {
namespace {

constexpr double kShortestTime = 0.001;  // seconds
constexpr double kLongestTime = 86'400;

/// The request's own time, within the server's.
std::optional<std::chrono::duration<double>> read_time(const ApiOptions& options, Fields& fields) {
  std::optional<double> seconds = fields.number("timeout", kShortestTime, kLongestTime);
  if (options.request_seconds > 0)
    seconds = std::min(seconds.value_or(kLongestTime), options.request_seconds);
  if (!seconds) return std::nullopt;
  return std::chrono::duration<double>(*seconds);
}

}  // namespace

AnswerOptions read_answer_options(ApiCall& call, Fields& fields) {
  AnswerOptions options;
  options.time = read_time(call.state.options, fields);
  return options;
}

}  // namespace parhelion::app
