#include "app/http/task_source.h"

namespace parhelion::app {

TaskSource::TaskSource(std::function<HttpReply()> task, std::shared_ptr<Bell> bell)
    : thread_([this, task = std::move(task), bell = std::move(bell)] {
        made_ = task();
        is_done_ = true;
        bell->ring();
      }) {}

Pull TaskSource::pull(HttpReply& reply) {
  if (!is_done_) return Pull::waiting;
  reply.status = made_.status;
  reply.content_type = std::move(made_.content_type);
  reply.body = std::move(made_.body);
  return Pull::complete;
}

}  // namespace parhelion::app
