#include "support/null_server.h"

#include "base/error.h"
#include "base/random.h"

#include <algorithm>

namespace parhelion::test {

using serve::FinishReason;

NullServer::NullServer(NullModel model)
    : model_(std::move(model)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

NullServer::~NullServer() {
  thread_.request_stop();
  changed_.notify_all();
}

void NullServer::check(const serve::Request& request) const {
  ensure(!request.prompt.empty(), ErrorKind::invalid, "prompt: is empty");
  for (const std::int32_t id : request.prompt)
    ensure(id >= 0 && id < model_.vocabulary, ErrorKind::invalid, "prompt: {} is no token id", id);
  const auto length = static_cast<std::int64_t>(request.prompt.size()) + request.max_tokens;
  ensure(length <= model_.context_tokens, ErrorKind::invalid, "prompt: does not fit the context");
  ensure(count_ + request.sequences <= model_.queue, ErrorKind::exhausted, "the queue is full");
}

serve::Ticket NullServer::submit(serve::Request request, serve::Sink& sink) {
  check(request);
  const auto shared = std::make_shared<const serve::Request>(request);
  const std::lock_guard lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  for (std::int64_t i = 0; i < shared->sequences; ++i) {
    Sequence& sequence = arrived_.emplace_back();
    sequence.ticket = ticket;
    sequence.request = shared;
    sequence.sink = &sink;
    sequence.number = i;
    if (shared->token_mask) sequence.mask = shared->token_mask(i);
    if (shared->stop_filter) sequence.filter = shared->stop_filter(i);
    sequence.allowed.resize(static_cast<std::size_t>((model_.vocabulary + 31) / 32));
  }
  count_ += shared->sequences;
  requests_.push_back(std::move(request));
  changed_.notify_all();
  return {ticket};
}

void NullServer::cancel(serve::Ticket ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket.number);
  changed_.notify_all();
}

serve::ServerCounts NullServer::counts() const {
  return {.running = count_, .drawn_tokens = drawn_};
}

void NullServer::pause() {
  const std::lock_guard lock(mutex_);
  is_paused_ = true;
}

void NullServer::resume() {
  const std::lock_guard lock(mutex_);
  is_paused_ = false;
  changed_.notify_all();
}

std::vector<serve::Request> NullServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void NullServer::run(const std::stop_token& stop) {
  for (auto next = std::chrono::steady_clock::now();; next += model_.step) {
    std::unique_lock lock(mutex_);
    if (running_.empty()) {
      changed_.wait(lock, stop, [this] { return !arrived_.empty() || !cancelled_.empty(); });
      next = std::max(next, std::chrono::steady_clock::now());
    }
    if (is_paused_)
      changed_.wait(lock, stop, [this] { return !is_paused_ || !cancelled_.empty(); });
    const bool steps = !is_paused_ && !stop.stop_requested();
    running_.splice(running_.end(), arrived_);
    for (const std::uint64_t ticket : std::exchange(cancelled_, {})) {
      for (Sequence& each : running_) each.is_cancelled |= each.ticket == ticket;
    }
    lock.unlock();
    const bool ends = stop.stop_requested();
    std::erase_if(running_, [&](Sequence& each) {
      if (ends) return finish(each, FinishReason::failed);
      if (each.is_cancelled) return finish(each, FinishReason::cancelled);
      return steps && step(each);
    });
    if (ends) return;
    if (model_.step.count() > 0) std::this_thread::sleep_until(next + model_.step);
  }
}

bool NullServer::is_stop(const Sequence& sequence, std::int32_t id) const {
  const serve::Request& request = *sequence.request;
  if (sequence.drawn < request.min_tokens) return false;
  if (std::ranges::find(request.stop_ids, id) != request.stop_ids.end()) return true;
  return !request.ignore_stop_ids &&
         std::ranges::find(model_.stop_ids, id) != model_.stop_ids.end();
}

/// The id to draw, the next one up that is allowed, or -1 if none is.
std::int32_t NullServer::draw(Sequence& sequence) {
  const serve::Request& request = *sequence.request;
  std::int32_t id = 0;
  if (model_.draw) {
    id = model_.draw(request, sequence.number, sequence.drawn);
  } else {
    const auto element = static_cast<std::uint64_t>(sequence.drawn);
    const float place = uniform(request.seed, static_cast<std::uint64_t>(sequence.number), element);
    id = static_cast<std::int32_t>(place * static_cast<float>(model_.vocabulary));
    while (std::ranges::find(model_.stop_ids, id) != model_.stop_ids.end())
      id = (id + 1) % model_.vocabulary;
  }
  if (!sequence.mask) return id;
  sequence.mask->fill(sequence.allowed);
  for (std::int32_t tries = 0; tries < model_.vocabulary; ++tries) {
    const std::int32_t candidate = (id + tries) % model_.vocabulary;
    const std::uint32_t word = sequence.allowed[static_cast<std::size_t>(candidate / 32)];
    if ((word >> (candidate % 32) & 1u) == 0) continue;
    sequence.mask->accept(candidate);
    return candidate;
  }
  return -1;
}

/// Counts the ids of a prompt by their remainders.
std::vector<float> NullServer::embed(const serve::Request& request) const {
  std::vector<float> vector(static_cast<std::size_t>(model_.width));
  for (const std::int32_t id : request.prompt)
    ++vector[static_cast<std::size_t>(id % model_.width)];
  return vector;
}

bool NullServer::step(Sequence& sequence) {
  const serve::Request& request = *sequence.request;
  if (request.embeds && !(model_.fails && model_.fails(request)))
    return finish(sequence, FinishReason::length);
  if (sequence.drawn == 0 && request.prompt_log_probabilities) {
    for (std::size_t i = 1; i < request.prompt.size(); ++i)
      sequence.sink->take(serve::TokenEvent{
          .sequence = sequence.number, .token = {request.prompt[i], -1.0f}, .in_prompt = true});
    if (request.max_tokens == 0) return finish(sequence, FinishReason::length);
  }
  if (model_.fails && model_.fails(request)) return finish(sequence, FinishReason::numeric_failure);
  const std::int32_t id = draw(sequence);
  if (id < 0) return finish(sequence, FinishReason::no_allowed_token);
  ++sequence.drawn;
  ++drawn_;
  if (is_stop(sequence, id)) return finish(sequence, FinishReason::stop, id);
  serve::TokenEvent event{.sequence = sequence.number,
                          .token = {id, -0.25f * static_cast<float>(sequence.number + 1)}};
  event.top_count = request.top_tokens;
  for (std::int64_t i = 0; i < request.top_tokens; ++i) {
    event.top[static_cast<std::size_t>(i)] = {
        static_cast<std::int32_t>((id + i) % model_.vocabulary), -0.25f - static_cast<float>(i)};
  }
  sequence.sink->take(event);
  if (sequence.filter && sequence.filter->accept(id)) return finish(sequence, FinishReason::stop);
  return sequence.drawn == request.max_tokens && finish(sequence, FinishReason::length);
}

bool NullServer::finish(Sequence& sequence, FinishReason reason, std::int32_t stop_id) {
  --count_;
  std::vector<float> vector;
  if (sequence.request->embeds) vector = embed(*sequence.request);
  sequence.sink->take(serve::FinishEvent{
      .sequence = sequence.number,
      .reason = reason,
      .stop_id = stop_id,
      .prompt_tokens = static_cast<std::int64_t>(sequence.request->prompt.size()),
      .drawn_tokens = sequence.drawn,
      .embedding = vector});
  return true;
}

}  // namespace parhelion::test
