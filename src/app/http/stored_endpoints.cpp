#include "app/http/api_state.h"
#include "app/http/response_items.h"

#include <algorithm>
#include <charconv>

namespace parhelion::app {
namespace {

/// What a path under /v1/responses/ names.
struct StoredPath {
  std::string id;
  std::string part;  ///< behind the id's `/`; empty: the response itself
};

StoredPath stored_path(const HttpRequest& request) {
  const std::string rest = request.path.substr(std::string_view("/v1/responses/").size());
  const std::size_t end = std::min(rest.find('/'), rest.size());
  return {rest.substr(0, end), rest.substr(std::min(end + 1, rest.size()))};
}

[[noreturn]] void refuse_unknown_path() {
  refuse(404, "not_found", "there is nothing at this path");
}

SharedResponse find_stored(ApiCall& call, const std::string& id) {
  SharedResponse found = call.state.responses.find(id, call.request.label);
  if (!found) refuse(404, "response_not_found", "no response of this id is kept", "response_id");
  return found;
}

/// The value of a name in a query, empty if it is not there.
std::string_view query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

std::int64_t page_limit(std::string_view query) {
  const std::string_view digits = query_value(query, "limit");
  if (digits.empty()) return 20;
  std::int64_t limit = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), limit);
  const bool is_number = code == std::errc() && end == digits.data() + digits.size();
  if (!is_number || limit < 1 || limit > 100)
    refuse_value("limit", "limit: expected a number of 1 to 100");
  return limit;
}

/// The place behind the item that a page goes on from.
Json::Array::iterator page_begin(Json::Array& items, std::string_view after) {
  if (after.empty()) return items.begin();
  const auto is_it = [after](const Json& item) { return *item.find("id") == Json(after); };
  const auto found = std::ranges::find_if(items, is_it);
  if (found == items.end()) refuse_value("after", "after: no item has this id");
  return found + 1;
}

/// A page of the items that a response was made from, its conversation's with them.
HandlerReply list_input(const StoredResponse& response, std::string_view query) {
  const std::string_view order = query_value(query, "order");
  if (!order.empty() && order != "asc" && order != "desc")
    refuse_value("order", "order: expected asc or desc");
  Json::Array items = conversation_items(response.previous.get());
  const Json own = parse_json(response.input, "stored input");
  std::ranges::copy(own.as_array("input"), std::back_inserter(items));
  if (order != "asc") std::ranges::reverse(items);
  const auto begin = page_begin(items, query_value(query, "after"));
  const std::int64_t count = std::min<std::int64_t>(page_limit(query), items.end() - begin);
  Json::Array page(begin, begin + count);
  const Json first = page.empty() ? Json() : *page.front().find("id");
  const Json last = page.empty() ? Json() : *page.back().find("id");
  return json_reply(Json::Object{{"object", "list"},
                                 {"data", std::move(page)},
                                 {"first_id", first},
                                 {"last_id", last},
                                 {"has_more", begin + count != items.end()}});
}

/// The response as it is once it was cancelled.
StoredResponse cancelled(StoredResponse response) {
  const Json body = parse_json(response.body, "stored response");
  Json::Object told = body.as_object("stored response");
  for (auto& [key, value] : told) {
    if (key == "status") value = "cancelled";
  }
  response.status = ResponseStatus::cancelled;
  response.body = write_json(told);
  return response;
}

}  // namespace

HandlerReply show_response(ApiCall& call) {
  const StoredPath path = stored_path(call.request);
  const bool lists = path.part == "input_items";
  if (!lists && !path.part.empty()) refuse_unknown_path();
  const SharedResponse found = find_stored(call, path.id);
  if (lists) return list_input(*found, call.request.query);
  if (query_value(call.request.query, "stream") == "true")
    refuse_feature("stream", "stream: a response that is kept is told in whole");
  return {.reply = {.body = found->body}};
}

HandlerReply delete_response(ApiCall& call) {
  const StoredPath path = stored_path(call.request);
  if (!path.part.empty()) refuse_unknown_path();
  find_stored(call, path.id);
  if (!call.state.responses.erase(path.id, call.request.label))
    refuse(409, "response_in_progress", "the response is not over: cancel it before");
  return json_reply(Json::Object{{"id", path.id}, {"object", "response"}, {"deleted", true}});
}

HandlerReply cancel_response(ApiCall& call) {
  const StoredPath path = stored_path(call.request);
  if (path.part != "cancel") refuse_unknown_path();
  const SharedResponse found = find_stored(call, path.id);
  if (!found->is_background)
    refuse_value("response_id", "only a response in the background can be cancelled");
  if (!is_over(found->status)) {
    call.state.responses.replace(cancelled(*found));
    call.state.background.cancel(path.id);
  }
  return {.reply = {.body = find_stored(call, path.id)->body}};  // perhaps it was over before
}

}  // namespace parhelion::app
