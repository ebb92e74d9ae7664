// What becomes of the answers of a step.
#include "serve/engine.h"
#include "serve/port_call.h"

#include <algorithm>
#include <cmath>

namespace parhelion::serve {
namespace {

bool is_stop_id(const contract::Contract& contract, const Request& request, std::int32_t id) {
  if (std::ranges::count(request.stop_ids, id) != 0) return true;
  return !request.ignore_stop_ids && std::ranges::count(contract.stop_ids, id) != 0;
}

/// A token with the likeliest ones in its place.
TokenEvent event_of(const Sequence& sequence, const ScoredToken& token, const LogitAnswer& answer) {
  TokenEvent event{
      .sequence = sequence.index, .token = token, .top_count = sequence.of->request.top_tokens};
  for (std::size_t i = 0; i < static_cast<std::size_t>(event.top_count); ++i)
    event.top.at(i) = {answer.top_ids[i], answer.top_log_probabilities[i]};
  return event;
}

/// Tokens of a part behind the last one whose logits are asked for.
std::int64_t tokens_behind_answers(const Part& part) {
  return part.draws ? 0 : part.tokens - part.first_scored - part.scored;
}

}  // namespace

void Engine::commit(std::span<const Part> parts, std::span<const LogitAnswer> answers) {
  for (const Part& part : parts) {
    const auto count = static_cast<std::size_t>(part.scored + (part.draws ? 1 : 0));
    commit_part(part, answers.first(count));
    answers = answers.subspan(count);
  }
}

void Engine::commit_part(const Part& part, std::span<const LogitAnswer> answers) {
  Sequence& sequence = *part.sequence;
  --sequence.steps_in_flight;
  sequence.unseen -= part.draws ? 1 : 0;
  sequence.consumed += part.tokens;
  queue_.charge(sequence.of->request.fairness_key, static_cast<double>(part.tokens));
  const auto is_sound = [&](const LogitAnswer& answer) {
    return answer.sampled >= 0 && answer.sampled < contract_.vocabulary &&
           !std::isnan(answer.sampled_log_probability);
  };
  const bool all_are_sound = std::ranges::all_of(answers, is_sound);
  if (sequence.has_ended) {  // it went on before its end was known
    counts_.discarded_tokens += part.draws ? 1 : 0;
    return release_late(sequence, all_are_sound && !answers.empty());
  }
  if (!all_are_sound) return give_up(sequence);
  // Logits depend on all keys and values before them: only if they are finite, those are.
  if (!answers.empty()) sequence.confirmed = sequence.consumed - tokens_behind_answers(part);
  if (settings_.shares_prefixes && !sequence.embeds()) {
    cache_.publish(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                   sequence.held);
  }
  // What is published of a prompt may be what another waits for.
  may_admit_ |= sequence.consumed - part.tokens < sequence.prompt_tokens();
  if (sequence.consumed >= sequence.prompt_tokens()) sequence.of->prompt_is_ready = true;
  report_prompt(sequence, answers.first(static_cast<std::size_t>(part.scored)));
  if (part.draws && sequence.embeds())
    return finish(sequence, FinishReason::length, -1, answers.back().embedding);
  if (part.draws) return take_draw(sequence, answers.back());
  const bool is_scored =
      sequence.of->request.max_tokens == 0 && sequence.consumed == sequence.prompt_tokens();
  if (is_scored) finish(sequence, FinishReason::length);
}

void Engine::report_prompt(Sequence& sequence, std::span<const LogitAnswer> answers) {
  for (const LogitAnswer& answer : answers) {
    const std::int32_t id = sequence.tokens[static_cast<std::size_t>(++sequence.reported)];
    TokenEvent event = event_of(sequence, {id, answer.target_log_probability}, answer);
    event.in_prompt = true;
    sequence.of->sink->take(event);
  }
}

void Engine::take_draw(Sequence& sequence, const LogitAnswer& answer) {
  const Request& request = sequence.of->request;
  ++counts_.drawn_tokens;
  if (is_stop_id(contract_, request, answer.sampled))
    return finish(sequence, FinishReason::stop, answer.sampled);
  sequence.tokens.push_back(answer.sampled);
  if (sequence.edits) sequence.edits->note_drawn(answer.sampled);
  bool is_stopped = false;
  const bool follows = port_succeeds([&] {
    if (sequence.mask) sequence.mask->accept(answer.sampled);
    is_stopped = sequence.filter && sequence.filter->accept(answer.sampled);
  });
  if (!follows) return finish(sequence, FinishReason::rules_failed);
  sequence.of->sink->take(
      event_of(sequence, {answer.sampled, answer.sampled_log_probability}, answer));
  if (is_stopped) return finish(sequence, FinishReason::stop);
  const bool is_full = sequence.consumed >= contract_.cache.context_tokens;
  if (is_full || sequence.drawn_tokens() >= request.max_tokens)
    finish(sequence, FinishReason::length);
}

/// Publishes what a sequence has that is known to be finite. The beginning of a page is left out if
/// a step has written behind it, since the page is copied as a whole.
void Engine::publish_known(Sequence& sequence) {
  if (!settings_.shares_prefixes || sequence.embeds()) return;
  const std::uint64_t salt = sequence.of->request.cache_salt;
  if (sequence.launched == sequence.confirmed) {
    cache_.publish_all(salt, sequence.tokens, sequence.confirmed, sequence.held);
  } else {
    cache_.publish(salt, sequence.tokens, sequence.confirmed, sequence.held);
  }
}

/// Gives a sequence's pages back. A kernel may multiply slots of a page that its row does not hold
/// by 0, so pages with tokens that are not known to be finite get the content of the null page
/// before others take them, behind the step that is under way.
void Engine::release_pages(Sequence& sequence) {
  const HeldPages& held = sequence.held;
  const std::int64_t first_unknown = sequence.confirmed / contract_.cache.page_tokens;
  const std::int64_t written =
      sequence.launched == sequence.confirmed
          ? 0
          : std::min(cache_.pages_for(sequence.launched), std::ssize(held.pages));
  for (auto page = std::max(held.published, first_unknown); page < written; ++page)
    copies_.add(0, held.pages[static_cast<std::size_t>(page)]);
  cache_.release(sequence.held);
  may_admit_ = true;
}

/// Lets go of the pages that an ended sequence kept for the step that was under way. What that step
/// wrote is read by nobody, but must be finite where the beginning of its page is published.
void Engine::release_late(Sequence& sequence, bool is_finite) {
  if (sequence.held.pages.empty()) return;
  if (is_finite) sequence.launched = sequence.confirmed;
  publish_known(sequence);
  release_pages(sequence);
}

/// Ends a sequence whose logits are not finite: none of its own pages is trusted.
void Engine::give_up(Sequence& sequence) {
  ++counts_.numeric_failures;
  sequence.confirmed = 0;
  finish(sequence, FinishReason::numeric_failure);
}

void Engine::finish(Sequence& sequence, FinishReason reason, std::int32_t stop_id,
                    std::span<const float> embedding) {
  sequence.has_ended = true;
  sequence.of->prompt_is_ready |= sequence.index == 0;
  const bool is_good = reason == FinishReason::stop || reason == FinishReason::length;
  const bool is_late = is_good && sequence.steps_in_flight > 0;  // release_late does it then
  if (is_good && !is_late) publish_known(sequence);
  if (!is_late) release_pages(sequence);
  const std::int64_t known = std::min(sequence.prompt_tokens(), sequence.consumed);
  sequence.of->sink->take(FinishEvent{.sequence = sequence.index,
                                      .reason = reason,
                                      .stop_id = stop_id,
                                      .prompt_tokens = known,
                                      .cached_tokens = std::min(known, sequence.cached_tokens),
                                      .drawn_tokens = sequence.drawn_tokens() + (stop_id >= 0),
                                      .queue_seconds = sequence.queue_seconds,
                                      .embedding = embedding});
}

void Engine::end_all(FinishReason reason) {
  phase_ = Phase::stopped;
  for (const auto& sequence : queue_.all()) sequence->is_cancelled = true;
  while (const auto sequence = queue_.take_cancelled()) finish(*sequence, reason);
  for (const auto& sequence : running_)
    if (!sequence->has_ended) finish(*sequence, reason);
}

}  // namespace parhelion::serve
