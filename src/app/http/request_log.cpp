#include "app/http/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace parhelion::app {
namespace {

std::string log_time() {
  const auto now = std::chrono::system_clock::now();
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), millis);
}

/// Words as they are, all else as JSON has it.
std::string text_value(const Json& value) {
  const std::string json = write_json(value);
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!value.is_string() || json.size() < 3) return json;
  const std::string_view inner = std::string_view(json).substr(1, json.size() - 2);
  return std::ranges::all_of(inner, is_plain) ? std::string(inner) : json;
}

std::string text_line(const Json::Object& members) {
  std::string line;
  for (const auto& [key, value] : members)
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", key, text_value(value));
  return line;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string write_line(LogFormat format, Json::Object members) {
  return format == LogFormat::text ? text_line(members) : write_json(std::move(members));
}

}  // namespace

std::string dropped_line(LogFormat format, std::int64_t lines) {
  return write_line(format, {{"time", log_time()}, {"event", "dropped"}, {"lines", lines}});
}

void log_request(const ApiOptions& options, std::string_view event, const HttpRequest& request,
                 Json::Object members) {
  if (!options.log) return;
  Json::Object line = {{"time", log_time()}, {"event", event}, {"request_id", request.id}};
  if (!request.trace_id.empty()) line.emplace_back("trace_id", request.trace_id);
  line.emplace_back("key", request.label);
  std::ranges::move(members, std::back_inserter(line));
  options.log(write_line(options.log_format, std::move(line)));
}

std::string trace_id_of(std::string_view traceparent) {
  constexpr std::size_t kLength = 55;  // version, trace, parent, flags: 2, 32, 16, 2 digits
  const bool has_form = traceparent.size() >= kLength && traceparent[2] == '-' &&
                        traceparent[35] == '-' && traceparent[52] == '-';
  if (!has_form || !is_hex(traceparent.substr(0, 2)) || traceparent.starts_with("ff")) return {};
  const std::string_view trace = traceparent.substr(3, 32);
  const bool is_zero = trace.find_first_not_of('0') == std::string_view::npos;
  return is_hex(trace) && !is_zero ? std::string(trace) : std::string();
}

}  // namespace parhelion::app
