#include "app/http/api_state.h"
#include "app/http/task_source.h"

namespace parhelion::app {
namespace {

/// Does something to the engine, and tells whether it could.
HandlerReply act_on_engine(ApiCall& call, const std::function<void()>& act) {
  if (!act) refuse_feature("", "this server has no way to do that");
  const auto task = [act, id = call.request.id]() -> HttpReply {
    try {
      act();
      return {.body = R"({"status":"done"})"};
    } catch (const Error& error) {
      const ApiError told{500, "internal_error", error.what(), {}};  // an operator may know
      return error_reply(told, ApiDialect::openai, id);
    }
  };
  HandlerReply reply;
  reply.source = std::make_unique<TaskSource>(task, call.bell);
  return reply;
}

}  // namespace

HandlerReply admin_drain(ApiCall& call) {
  if (!call.state.options.admin.drain) refuse_feature("", "this server has no way to do that");
  if (!call.state.is_draining.exchange(true)) call.state.options.admin.drain();
  return json_reply(Json::Object{{"status", "draining"}, {"running", call.state.tickets.count()}});
}

HandlerReply admin_cancel(ApiCall& call) {
  const std::string id = call.request.path.substr(std::string_view("/admin/cancel/").size());
  const std::int64_t count = call.state.tickets.cancel(id);
  if (count == 0) refuse(404, "request_not_found", "no request of this id is at work");
  return json_reply(Json::Object{{"status", "cancelled"}, {"requests", count}});
}

HandlerReply admin_reset_cache(ApiCall& call) {
  return act_on_engine(call, call.state.options.admin.reset_cache);
}

HandlerReply admin_audit(ApiCall& call) {
  return act_on_engine(call, call.state.options.admin.audit);
}

HandlerReply admin_trace(ApiCall& call) {
  const auto& trace = call.state.options.admin.trace;
  if (!trace) refuse_feature("", "this server has no way to do that");
  return json_reply(trace());
}

}  // namespace parhelion::app
