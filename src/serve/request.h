#pragma once

#include "serve/step.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::serve {

/// Which ids may come next in one sequence. The server asks before each draw. What it throws ends
/// that sequence with `rules_failed`.
///
/// Threads: the engine's.
class TokenMask {
 public:
  virtual ~TokenMask() = default;
  /// Sets bit `id % 32` of word `id / 32` for each id that may be drawn next, and clears all
  /// others.
  virtual void fill(std::span<std::uint32_t> bits) = 0;
  /// Goes on behind a drawn id.
  virtual void accept(std::int32_t id) = 0;
};

/// Ends a sequence by what its text says. What it throws ends it with `rules_failed`.
///
/// Threads: the engine's.
class StopFilter {
 public:
  virtual ~StopFilter() = default;
  /// Takes a drawn id. True: the sequence ends with it.
  virtual bool accept(std::int32_t id) = 0;
};

inline constexpr std::int64_t kMostSequences = 128;  ///< of one request

/// What a user asks for. Sampling values that are not set are the contract's; set ones are clamped
/// to the contract's ranges.
struct Request {
  std::vector<std::int32_t> prompt = {};
  std::int64_t max_tokens = 0;
  std::int64_t min_tokens = 0;  ///< stop ids are not drawn before
  std::optional<double> temperature = {};
  std::optional<double> top_k = {};
  std::optional<double> top_p = {};
  std::optional<double> min_p = {};
  std::optional<double> repetition_penalty = {};  ///< over prompt and output
  std::optional<double> presence_penalty = {};    ///< over output
  std::optional<double> frequency_penalty = {};   ///< over output
  std::uint64_t seed = 0;
  std::int64_t sequences =
      1;  ///< independent answers; sequence i draws by a seed made of seed and i
  std::vector<std::pair<std::int32_t, float>> logit_bias = {};  ///< id and what is added
  std::vector<std::int32_t> bad_ids = {};                       ///< never drawn
  std::vector<std::int32_t> allowed_ids = {};  ///< if not empty, nothing else is drawn
  std::vector<std::int32_t> stop_ids = {};     ///< beside the contract's
  bool ignore_stop_ids = false;                ///< the contract's do not end the sequence
  std::int64_t top_tokens = 0;                 ///< likeliest tokens to report beside each drawn one
  bool prompt_log_probabilities = false;       ///< report each prompt token's first
  bool embeds = false;  ///< nothing is drawn: the finish has the prompt's vector; max_tokens is 0
  int priority = 5;     ///< 0 (first) to 9
  std::uint64_t fairness_key = 0;  ///< requests of one key take turns with those of another
  std::uint64_t cache_salt = 0;    ///< only requests of one salt share cached prefixes
  /// Make the ports of sequence i; either may be empty.
  std::function<std::unique_ptr<TokenMask>(std::int64_t)> token_mask = {};
  std::function<std::unique_ptr<StopFilter>(std::int64_t)> stop_filter = {};
};

enum class FinishReason : std::uint8_t {
  stop,              ///< a stop id was drawn (it is not among the ids), or the filter ended it
  length,            ///< max_tokens or the context is used up
  cancelled,         ///< by the caller
  numeric_failure,   ///< the model's logits have no finite maximum
  no_allowed_token,  ///< the mask leaves nothing to draw
  rules_failed,      ///< the mask or the filter of the request threw
  failed,            ///< the engine ended
};
std::string_view name(FinishReason reason);

/// A token and its probability.
struct ScoredToken {
  std::int32_t id = -1;
  float log_probability = 0;  ///< under the model's own distribution
};

/// A token of a sequence: drawn, or of the prompt if the request asks for those.
struct TokenEvent {
  std::int64_t sequence = 0;
  ScoredToken token;
  bool in_prompt = false;
  std::int64_t top_count = 0;
  std::array<ScoredToken, kMostTopTokens> top = {};  ///< the likeliest first
};

/// A sequence's end.
struct FinishEvent {
  std::int64_t sequence = 0;
  FinishReason reason = FinishReason::stop;
  std::int32_t stop_id = -1;       ///< the stop id that was drawn
  std::int64_t prompt_tokens = 0;  ///< computed or found; all, if it ended well
  std::int64_t cached_tokens = 0;  ///< of the prompt, found in the cache
  std::int64_t drawn_tokens = 0;   ///< the stop id with them
  double queue_seconds = 0;        ///< until it was admitted
  /// The prompt's vector as the model gives it, if that was asked for; valid within the call.
  std::span<const float> embedding = {};
};

/// Where the tokens of a request go.
///
/// Threads: called on the engine's thread; must not block or throw. Lives until it has had the
/// finish of every sequence of its request.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(const TokenEvent& event) = 0;
  virtual void take(const FinishEvent& event) = 0;
};

/// A request in a server; never used again.
struct Ticket {
  std::uint64_t number = 0;
  bool operator==(const Ticket&) const = default;
};

/// What a server holds and has done, as of its last step.
struct ServerCounts {
  std::int64_t running = 0;      ///< sequences
  std::int64_t waiting = 0;      ///< sequences
  std::int64_t pages_total = 0;  ///< without the null page
  std::int64_t pages_free = 0;
  std::int64_t pages_cached = 0;  ///< published, held by no sequence
  std::int64_t steps = 0;
  std::int64_t step_rows = 0;    ///< of all steps
  std::int64_t padded_rows = 0;  ///< capacity of all steps that had no row
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t drawn_tokens = 0;
  std::int64_t discarded_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t evicted_pages = 0;
  std::int64_t numeric_failures = 0;
  double step_seconds = 0;  ///< of all steps
  double host_seconds = 0;  ///< of all steps, in which the host did something itself
  double gap_seconds = 0;   ///< from the end of a step to the start of the next, prepared one
};

/// Takes requests from any thread and answers through their sinks.
class Server {
 public:
  virtual ~Server() = default;

  /// Queues a request. Its sequences begin when there is room for their worst case.
  ///
  /// Errors: invalid if the prompt is empty, has an id outside the vocabulary, does not fit the
  ///         context or could never fit the pages, or a value is outside its legal range;
  ///         exhausted if the queue is full; unsupported if the contract cannot do what is asked;
  ///         peer if the server is stopping.
  virtual Ticket submit(Request request, Sink& sink) = 0;

  /// Ends the sequences of a request within two steps; the sink gets their finish. Nothing happens
  /// if it has ended.
  virtual void cancel(Ticket ticket) = 0;

  virtual ServerCounts counts() const = 0;

  /// Time since a step ended or there was nothing to do; grows if the engine hangs.
  virtual double seconds_since_progress() const = 0;
};

}  // namespace parhelion::serve
