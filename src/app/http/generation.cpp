#include "app/http/generation.h"

#include "app/http/engine_ports.h"

#include <algorithm>

namespace parhelion::app {
namespace {

constexpr std::int64_t kMostWaiting = 65536;    // tokens of one request
constexpr std::int64_t kMostWaitingTop = 8192;  // where each has likely ones beside it

std::int64_t most_events(const serve::Request& request) {
  const std::int64_t prompt =
      request.prompt_log_probabilities ? static_cast<std::int64_t>(request.prompt.size()) : 0;
  const std::int64_t most = request.top_tokens > 0 ? kMostWaitingTop : kMostWaiting;
  return std::min(most, prompt + request.sequences * std::max<std::int64_t>(1, request.max_tokens));
}

/// Joins the last delta to one before it that it continues.
void join_last(std::vector<Delta>& deltas) {
  if (deltas.size() < 2) return;
  Delta& last = deltas.back();
  if (last.kind == DeltaKind::finish || last.kind == DeltaKind::tool_call || !last.logs.empty())
    return;
  const auto end = deltas.end() - 1;
  for (auto each = end; each != deltas.begin();) {
    --each;
    if (each->choice != last.choice) continue;
    if (each->kind != last.kind || each->tool != last.tool || !each->logs.empty()) return;
    each->text += last.text;
    each->ids.insert(each->ids.end(), last.ids.begin(), last.ids.end());
    deltas.pop_back();
    return;
  }
}

}  // namespace

Generation::Generation(const ServedModel& model, ActiveTickets& tickets, GenerationPlan plan,
                       const std::shared_ptr<Bell>& bell)
    : tickets_(tickets), joins_from_(plan.joins_from), request_id_(std::move(plan.request_id)) {
  parts_.reserve(plan.prompts.size());
  for (PlannedPrompt& prompt : plan.prompts) {
    try {
      submit(model, std::move(prompt), plan.choices, bell);
    } catch (const Error& error) {
      if (parts_.empty()) throw;
      error_ = std::make_unique<Error>(error);
      cancel();
      return;
    }
  }
}

void Generation::submit(const ServedModel& model, PlannedPrompt prompt,
                        const ChoiceOptions& options, const std::shared_ptr<Bell>& bell) {
  serve::Request& request = prompt.request;
  const std::int64_t sequences = request.sequences;
  if (!options.reply.stops.empty() || options.at_most_one_call)
    request.stop_filter =
        stop_filter_port(model.tokenizer, options.reply, options.at_most_one_call);
  auto sink =
      std::make_unique<EventSink>(sequences, most_events(request), request.top_tokens, bell);
  Part part{.taken = {tickets_, std::move(sink)}, .readers = {}};
  for (std::int64_t i = 0; i < sequences; ++i)
    part.readers.emplace_back(model, choices_ + i, options, prompt.echo);
  part.taken.submit(std::move(request), request_id_);
  choices_ += sequences;
  parts_.push_back(std::move(part));
}

void Generation::read(std::vector<Delta>& deltas) {
  for (Part& part : parts_) read(part, deltas);
}

void Generation::read(Part& part, std::vector<Delta>& deltas) {
  const std::int64_t finished =
      part.taken.sink().finished();  // before the tokens: none of theirs is missed
  const bool is_behind = part.taken.sink().waiting() > joins_from_;
  serve::TokenEvent event;
  while (part.taken.sink().next(event)) {
    part.readers[static_cast<std::size_t>(event.sequence)].take(event, deltas);
    if (is_behind) join_last(deltas);
  }
  for (; part.finishes_read < finished; ++part.finishes_read) {
    const serve::FinishEvent& finish = part.taken.sink().finish(part.finishes_read);
    part.readers[static_cast<std::size_t>(finish.sequence)].take(finish, deltas);
    account(part, finish);
  }
}

void Generation::account(Part& part, const serve::FinishEvent& finish) {
  ++finished_;
  usage_.completion_tokens += finish.drawn_tokens;
  const ChoiceReader& reader = part.readers[static_cast<std::size_t>(finish.sequence)];
  usage_.reasoning_tokens += reader.reasoning_tokens();
  malformed_calls_ += reader.malformed_calls();
  queue_seconds_ = std::max(queue_seconds_, finish.queue_seconds);
  if (part.has_usage) return;
  part.has_usage = true;
  usage_.prompt_tokens += finish.prompt_tokens;
  usage_.cached_tokens += finish.cached_tokens;
}

bool Generation::is_released() {
  std::vector<Delta> unread;
  if (!is_complete()) read(unread);
  if (!is_complete()) return false;
  // The engine has told the last finish and is about to let go.
  for (const Part& part : parts_) part.taken.wait_for_release();
  return true;
}

void Generation::cancel() {
  for (Part& part : parts_) part.taken.cancel();
}

bool Generation::has_overflowed() const {
  return std::ranges::any_of(parts_,
                             [](const Part& part) { return part.taken.sink().has_overflowed(); });
}

}  // namespace parhelion::app
