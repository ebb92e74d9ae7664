// What becomes of the answers of a step.
#include "serve/engine.h"

#include <algorithm>
#include <cmath>

namespace parhelion::serve {
namespace {

bool is_stop_id(const contract::Contract& contract, const Request& request, std::int32_t id) {
  if (std::ranges::count(request.stop_ids, id) != 0) return true;
  return !request.ignore_stop_ids && std::ranges::count(contract.stop_ids, id) != 0;
}

TokenEvent event_of(const Sequence& sequence, const LogitAnswer& answer) {
  TokenEvent event{.sequence = sequence.index,
                   .token = {answer.sampled, answer.sampled_log_probability},
                   .top_count = sequence.of->request.top_tokens};
  for (std::size_t i = 0; i < static_cast<std::size_t>(event.top_count); ++i)
    event.top.at(i) = {answer.top_ids[i], answer.top_log_probabilities[i]};
  return event;
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
  if (sequence.has_ended) {  // it went on before its end was known
    counts_.discarded_tokens += part.draws ? 1 : 0;
    return;
  }
  const bool is_finite = std::ranges::all_of(answers, [](const auto& answer) {
    return answer.sampled >= 0 && !std::isnan(answer.sampled_log_probability);
  });
  if (!is_finite) return give_up(sequence);
  // Logits depend on all keys and values before them: only if they are finite, those are.
  if (!answers.empty()) sequence.confirmed = sequence.consumed;
  if (settings_.shares_prefixes && !sequence.embeds()) {
    cache_.publish(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                   sequence.held);
  }
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
    sequence.of->sink->take(TokenEvent{.sequence = sequence.index,
                                       .token = {id, answer.target_log_probability},
                                       .in_prompt = true});
  }
}

void Engine::take_draw(Sequence& sequence, const LogitAnswer& answer) {
  const Request& request = sequence.of->request;
  ++counts_.drawn_tokens;
  if (is_stop_id(contract_, request, answer.sampled))
    return finish(sequence, FinishReason::stop, answer.sampled);
  sequence.tokens.push_back(answer.sampled);
  if (sequence.edits) sequence.edits->note_drawn(answer.sampled);
  if (sequence.mask) sequence.mask->accept(answer.sampled);
  sequence.of->sink->take(event_of(sequence, answer));
  if (sequence.filter && sequence.filter->accept(answer.sampled))
    return finish(sequence, FinishReason::stop);
  const bool is_full = sequence.consumed >= contract_.cache.context_tokens;
  if (is_full || sequence.drawn_tokens() >= request.max_tokens)
    finish(sequence, FinishReason::length);
}

/// Ends a sequence whose logits are not finite. A kernel may multiply slots of a page that its row
/// does not hold by 0, so its own pages get the content of the null page before others take them.
void Engine::give_up(Sequence& sequence) {
  ++counts_.numeric_failures;
  for (auto page = sequence.held.published; page < std::ssize(sequence.held.pages); ++page)
    copies_.emplace_back(0, sequence.held.pages[static_cast<std::size_t>(page)]);
  finish(sequence, FinishReason::numeric_failure);
}

void Engine::finish(Sequence& sequence, FinishReason reason, std::int32_t stop_id,
                    std::span<const float> embedding) {
  sequence.has_ended = true;
  sequence.of->prompt_is_ready |= sequence.index == 0;
  const bool is_good = reason == FinishReason::stop || reason == FinishReason::length;
  if (is_good && settings_.shares_prefixes && !sequence.embeds()) {
    cache_.publish_all(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                       sequence.held);
  }
  cache_.release(sequence.held);
  sequence.of->sink->take(FinishEvent{.sequence = sequence.index,
                                      .reason = reason,
                                      .stop_id = stop_id,
                                      .prompt_tokens = sequence.prompt_tokens(),
                                      .cached_tokens = sequence.cached_tokens,
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
