#include "serve/sequence.h"

#include "base/error.h"
#include "base/random.h"
#include "serve/sampling/parameters.h"

#include <algorithm>

namespace parhelion::serve {
namespace {

void check_ids(std::string_view what, std::span<const std::int32_t> ids, std::int64_t vocabulary) {
  const auto outside =
      std::ranges::find_if(ids, [&](auto id) { return id < 0 || id >= vocabulary; });
  if (outside == ids.end()) return;
  fail(ErrorKind::invalid, "{}: token {} is id {}, expected 0 to {}", what, outside - ids.begin(),
       *outside, vocabulary - 1);
}

void check_prompt(const contract::Contract& contract, const Request& request) {
  ensure(!request.prompt.empty(), ErrorKind::invalid,
         "prompt: is empty, expected at least one token");
  ensure(std::ssize(request.prompt) <= contract.cache.context_tokens, ErrorKind::invalid,
         "prompt: has {} tokens, the context holds {}", request.prompt.size(),
         contract.cache.context_tokens);
  check_ids("prompt", request.prompt, contract.vocabulary);
}

void check_counts(const Request& request) {
  const std::int64_t least = request.prompt_log_probabilities || request.embeds ? 0 : 1;
  ensure(request.max_tokens >= least, ErrorKind::invalid, "max_tokens: is {}, expected at least {}",
         request.max_tokens, least);
  ensure(request.min_tokens >= 0 && request.min_tokens <= request.max_tokens, ErrorKind::invalid,
         "min_tokens: is {}, expected 0 to max_tokens ({})", request.min_tokens,
         request.max_tokens);
  ensure(request.sequences >= 1 && request.sequences <= kMostSequences, ErrorKind::invalid,
         "sequences: is {}, expected 1 to {}", request.sequences, kMostSequences);
  constexpr auto kMost = static_cast<std::int64_t>(kMostTopTokens);
  ensure(request.top_tokens >= 0 && request.top_tokens <= kMost, ErrorKind::invalid,
         "top_tokens: is {}, expected 0 to {}", request.top_tokens, kMost);
  ensure(request.priority >= 0 && request.priority <= 9, ErrorKind::invalid,
         "priority: is {}, expected 0 to 9", request.priority);
}

/// What a contract bounds below its context and its catalogue.
void check_limits(const contract::Limits& limits, const Request& request) {
  const auto check = [](std::string_view what, std::int64_t asked, std::int64_t most) {
    ensure(most == 0 || asked <= most, ErrorKind::invalid, "{}: is {}, expected at most {}", what,
           asked, most);
  };
  check("prompt tokens", std::ssize(request.prompt), limits.prompt_tokens);
  check("max_tokens", request.max_tokens, limits.output_tokens);
  check("sequences", request.sequences, limits.request_sequences);
}

void check_embeds(const Request& request) {
  const bool draws = request.max_tokens > 0 || request.sequences > 1 || request.top_tokens > 0 ||
                     request.prompt_log_probabilities || request.token_mask;
  ensure(!request.embeds || !draws, ErrorKind::invalid,
         "embeds: a request for a vector draws nothing, expected max_tokens 0, one sequence, no "
         "log-probabilities and no mask");
}

/// The first sequence draws by the seed itself, each other one by a seed of its own.
std::uint64_t seed_of(std::uint64_t seed, std::int64_t sequence) {
  if (sequence == 0) return seed;
  const auto words = philox(seed, static_cast<std::uint64_t>(sequence), 0);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

std::unique_ptr<Sequence> make_sequence(const contract::Contract& contract,
                                        const std::shared_ptr<RequestState>& of,
                                        std::int64_t index) {
  const Request& request = of->request;
  auto sequence = std::make_unique<Sequence>();
  sequence->of = of;
  sequence->index = index;
  sequence->sampling = effective_sampling(contract.sampling, request);
  sequence->sampling.seed = seed_of(request.seed, index);
  if (!request.embeds && LogitEdits::are_asked(contract.sampling, request))
    sequence->edits = std::make_unique<LogitEdits>(contract, request);
  if (request.token_mask) sequence->mask = request.token_mask(index);
  if (request.stop_filter) sequence->filter = request.stop_filter(index);
  sequence->submitted = std::chrono::steady_clock::now();
  const std::int64_t prompt = std::ssize(request.prompt);
  sequence->most_tokens = std::min(prompt + request.max_tokens, contract.cache.context_tokens);
  sequence->tokens.reserve(static_cast<std::size_t>(prompt + request.max_tokens));
  sequence->tokens = request.prompt;
  const std::int64_t page = contract.cache.page_tokens;
  sequence->held.pages.reserve(static_cast<std::size_t>(sequence->most_tokens / page + 2));
  return sequence;
}

}  // namespace

std::vector<std::unique_ptr<Sequence>> make_sequences(const contract::Contract& contract,
                                                      Request request, Ticket ticket, Sink& sink) {
  check_prompt(contract, request);
  check_counts(request);
  check_limits(contract.limits, request);
  check_embeds(request);
  check_ids("stop_ids", request.stop_ids, contract.vocabulary);
  request.max_tokens = std::min(request.max_tokens, contract.cache.context_tokens);
  const auto of = std::make_shared<RequestState>(RequestState{std::move(request), ticket, &sink});
  std::vector<std::unique_ptr<Sequence>> result;
  for (std::int64_t i = 0; i < of->request.sequences; ++i)
    result.push_back(make_sequence(contract, of, i));
  return result;
}

}  // namespace parhelion::serve
