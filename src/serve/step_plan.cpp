#include "serve/step_plan.h"

#include <algorithm>

namespace parhelion::serve {
namespace {

struct Used {
  std::int64_t tokens = 0, queries = 0, rows = 0, edits = 0;
};

/// The most tokens that an instance can have in all if one more row, these queries and these edits
/// join. An instance that decodes takes one more token if each row has one.
std::int64_t most_tokens(const InstanceSet& instances, const Used& used, std::int64_t queries,
                         std::int64_t edits) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < instances.catalogue.size(); ++i) {
    const ir::Capacities& instance = instances.catalogue[i];
    const bool covers = instance[ir::Symbol::rows] > used.rows &&
                        instance[ir::Symbol::logit_rows] >= queries && instances.edits[i] >= edits;
    if (!covers) continue;
    if (most_row_tokens(instance) > 1) {
      most = std::max(most, instance[ir::Symbol::tokens]);
    } else if (used.tokens == used.rows && instance[ir::Symbol::tokens] > used.tokens) {
      most = std::max(most, used.tokens + 1);
    }
  }
  return most;
}

bool ends_with_a_draw(const Sequence& sequence) {
  return sequence.of->request.max_tokens > 0 || sequence.embeds();
}

/// Tokens of the prompt that a sequence computes again, whose next ones were reported before it
/// gave way.
std::int64_t scored_before(const Sequence& sequence) {
  return std::max<std::int64_t>(sequence.reported - sequence.launched, 0);
}

bool scores_prompt(const Sequence& sequence) {
  return sequence.of->request.prompt_log_probabilities &&
         sequence.launched + scored_before(sequence) + 1 < sequence.prompt_tokens();
}

/// Whether all tokens that a sequence may have are drawn, or on their way.
bool draws_no_more(const Sequence& sequence) {
  return sequence.unseen > 0 &&
         (sequence.drawn_tokens() + sequence.unseen >= sequence.of->request.max_tokens ||
          sequence.launched >= sequence.most_tokens);
}

std::int64_t edits_of(const Sequence& sequence) {
  return sequence.edits ? sequence.edits->ids() : 0;
}

Part part_of(Sequence& sequence, std::int64_t tokens) {
  Part part{.sequence = &sequence,
            .tokens = tokens,
            .draws = tokens == sequence.pending() && ends_with_a_draw(sequence)};
  if (scores_prompt(sequence)) {
    const std::int64_t end = std::min(tokens, sequence.prompt_tokens() - 1 - sequence.launched);
    part.first_scored = std::min(scored_before(sequence), end);
    part.scored = end - part.first_scored;
  }
  return part;
}

/// As many of a sequence's pending tokens as `room` and some instance allow.
Part fitting_part(Sequence& sequence, const InstanceSet& instances, const Used& used,
                  std::int64_t room) {
  std::int64_t tokens = std::min(sequence.pending(), room);
  if (scores_prompt(sequence)) {
    const std::int64_t answered = most_queries(instances) - used.queries;
    tokens = std::min(tokens, scored_before(sequence) + answered);
  }
  while (tokens > 0) {
    const Part part = part_of(sequence, tokens);
    const std::int64_t queries = used.queries + part.scored + (part.draws ? 1 : 0);
    const std::int64_t edits = used.edits + (part.draws ? edits_of(sequence) : 0);
    const std::int64_t most = most_tokens(instances, used, queries, edits) - used.tokens;
    if (tokens <= most) return part;
    tokens = std::min(tokens - 1, most);
  }
  return {};
}

bool decodes(const Sequence& sequence) {
  return sequence.pending() == 1 && !scores_prompt(sequence);
}

bool wants_part(const Sequence& sequence, StepKind kind) {
  return !sequence.has_ended && sequence.pending() > 0 && !draws_no_more(sequence) &&
         sequence.embeds() == (kind == StepKind::embed);
}

/// A step that is being shared out.
struct Shares {
  const InstanceSet& instances;
  std::int64_t budget;
  std::vector<Part>& parts;
  Used used = {};

  /// Gives a sequence what it needs, as far as there is room. False: there is none.
  bool add(Sequence& sequence) {
    const std::int64_t room = decodes(sequence) ? 1 : budget - used.tokens;
    const Part part = fitting_part(sequence, instances, used, room);
    if (part.tokens == 0) return false;
    parts.push_back(part);
    used.tokens += part.tokens;
    used.queries += part.scored + (part.draws ? 1 : 0);
    used.edits += part.draws ? edits_of(sequence) : 0;
    ++used.rows;
    return true;
  }
};

/// A token each, beginning with the one whose turn it is. Returns who begins next.
std::uint64_t add_decoding(std::span<Sequence* const> in_turn, StepKind kind, std::uint64_t first,
                           Shares& shares) {
  const auto begin = std::ranges::find(in_turn, first, &Sequence::arrival);
  const auto at = begin == in_turn.end() ? 0 : begin - in_turn.begin();
  std::uint64_t next = 0;
  const auto add = [&](Sequence* sequence) {
    const bool decodes_now = wants_part(*sequence, kind) && decodes(*sequence);
    if (decodes_now && !shares.add(*sequence) && next == 0) next = sequence->arrival;
  };
  std::ranges::for_each(in_turn.subspan(static_cast<std::size_t>(at)), add);
  std::ranges::for_each(in_turn.first(static_cast<std::size_t>(at)), add);
  return next;
}

}  // namespace

Turns plan_parts(std::span<Sequence* const> in_turn, StepKind kind, const InstanceSet& instances,
                 std::int64_t budget, Turns turns, std::vector<Part>& parts) {
  parts.clear();
  Shares shares{.instances = instances, .budget = budget, .parts = parts};
  Turns next = turns;
  next.first_decoding = add_decoding(in_turn, kind, turns.first_decoding, shares);
  const auto waits = [&](const Sequence* sequence, bool scored) {
    return wants_part(*sequence, kind) && !decodes(*sequence) && scores_prompt(*sequence) == scored;
  };
  bool both_wait = true;
  for (const bool scored : {turns.scores_first, !turns.scores_first}) {
    bool some_wait = false;
    for (Sequence* sequence : in_turn) {
      if (!waits(sequence, scored)) continue;
      some_wait = true;
      shares.add(*sequence);
    }
    both_wait &= some_wait;
  }
  if (both_wait) next.scores_first = !turns.scores_first;
  return next;
}

}  // namespace parhelion::serve
