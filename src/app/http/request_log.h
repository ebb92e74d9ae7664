#pragma once

#include "app/http/api.h"
#include "base/json.h"

#include <string>
#include <string_view>

namespace parhelion::app {

/// Hands a line about a request to the operator's log, if there is one: its time, what happened,
/// the request's ids, and `members`.
void log_request(const ApiOptions& options, std::string_view event, const HttpRequest& request,
                 Json::Object members);

/// The line about lines that were dropped.
std::string dropped_line(LogFormat format, std::int64_t lines);

/// The trace's id of a W3C `traceparent` field; empty if it is none.
std::string trace_id_of(std::string_view traceparent);

}  // namespace parhelion::app
