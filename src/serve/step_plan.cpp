#include "serve/step_plan.h"

#include <algorithm>

namespace parhelion::serve {
namespace {

struct Used {
  std::int64_t tokens = 0, queries = 0, rows = 0;
};

/// The most tokens that an instance can have in all if one more row and these queries join. An
/// instance that decodes takes one more token if each row has one.
std::int64_t most_tokens(std::span<const ir::Capacities> catalogue, const Used& used,
                         std::int64_t queries) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : catalogue) {
    const bool covers =
        instance[ir::Symbol::rows] > used.rows && instance[ir::Symbol::logit_rows] >= queries;
    if (!covers) continue;
    if (most_row_tokens(instance) > 1) {
      most = std::max(most, instance[ir::Symbol::tokens]);
    } else if (used.tokens == used.rows) {
      most = std::max(most, used.tokens + 1);
    }
  }
  return most;
}

std::int64_t most_queries(std::span<const ir::Capacities> catalogue) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : catalogue)
    most = std::max(most, instance[ir::Symbol::logit_rows]);
  return most;
}

bool ends_with_a_draw(const Sequence& sequence) { return sequence.of->request.max_tokens > 0; }

bool scores_prompt(const Sequence& sequence) {
  return sequence.of->request.prompt_log_probabilities &&
         sequence.launched + 1 < sequence.prompt_tokens();
}

Part part_of(Sequence& sequence, std::int64_t tokens) {
  Part part{.sequence = &sequence,
            .tokens = tokens,
            .draws = tokens == sequence.pending() && ends_with_a_draw(sequence)};
  if (scores_prompt(sequence))
    part.scored = std::min(tokens, sequence.prompt_tokens() - 1 - sequence.launched);
  return part;
}

/// As many of a sequence's pending tokens as `room` and some instance allow.
Part extend_part(Sequence& sequence, std::span<const ir::Capacities> catalogue, const Used& used,
                 std::int64_t room) {
  std::int64_t tokens = std::min(sequence.pending(), room);
  if (scores_prompt(sequence)) tokens = std::min(tokens, most_queries(catalogue) - used.queries);
  while (tokens > 0) {
    const Part part = part_of(sequence, tokens);
    const std::int64_t queries = used.queries + part.scored + (part.draws ? 1 : 0);
    const std::int64_t most = most_tokens(catalogue, used, queries) - used.tokens;
    if (tokens <= most) return part;
    tokens = std::min(tokens - 1, most);
  }
  return {};
}

}  // namespace

void plan_parts(std::span<const std::unique_ptr<Sequence>> running,
                std::span<const ir::Capacities> catalogue, std::int64_t budget,
                std::vector<Part>& parts) {
  parts.clear();
  Used used;
  const auto add = [&](const Part& part) {
    parts.push_back(part);
    used.tokens += part.tokens;
    used.queries += part.scored + (part.draws ? 1 : 0);
    ++used.rows;
  };
  const auto decodes = [](const Sequence& sequence) {
    return sequence.pending() == 1 && !scores_prompt(sequence);
  };
  for (const auto& sequence : running) {
    if (!sequence->has_ended && decodes(*sequence)) add(part_of(*sequence, 1));
  }
  for (const auto& sequence : running) {
    if (sequence->has_ended || sequence->pending() == 0 || decodes(*sequence)) continue;
    const Part part = extend_part(*sequence, catalogue, used, budget - used.tokens);
    if (part.tokens > 0) add(part);
  }
}

}  // namespace parhelion::serve
