#pragma once

#include "serve/cache/page_cache.h"
#include "serve/request.h"
#include "serve/sampling/logit_edits.h"
#include "serve/step.h"

#include <chrono>
#include <memory>
#include <vector>

namespace parhelion::serve {

/// What the sequences of one request share.
struct RequestState {
  Request request;
  Ticket ticket;
  Sink* sink = nullptr;
  bool prompt_is_ready = false;  ///< the first sequence has consumed it, or ended
};

/// One generation stream: confirmed <= consumed <= launched <= tokens.size() + unseen.
struct Sequence {
  std::shared_ptr<RequestState> of;
  std::int64_t index = 0;  ///< among the request's
  SamplingParameters sampling = {};
  std::unique_ptr<LogitEdits> edits = {};  ///< null: its logits stay as they are
  std::unique_ptr<TokenMask> mask = {};
  std::unique_ptr<StopFilter> filter = {};
  std::chrono::steady_clock::time_point submitted = {};

  std::vector<std::int32_t> tokens = {};  ///< the prompt, then what was drawn
  std::int64_t launched = 0;              ///< tokens that steps were given
  std::int64_t consumed = 0;              ///< tokens whose step has ended
  std::int64_t confirmed = 0;             ///< consumed tokens whose logits were seen to be finite
  std::int64_t steps_in_flight = 0;
  std::int64_t unseen = 0;    ///< tokens that a step in flight draws: 0 or 1
  std::int32_t slot = -1;     ///< where the device keeps its last drawn token
  std::int64_t reported = 0;  ///< prompt tokens whose event was sent
  HeldPages held = {};
  std::int64_t most_tokens = 0;  ///< that its pages must ever hold
  std::int64_t cached_tokens = 0;
  std::int64_t bypassed = 0;  ///< admissions of others while it was first
  std::int64_t preemptions = 0;
  std::uint64_t arrival = 0;
  double queue_seconds = 0;
  bool was_admitted = false;
  bool is_cancelled = false;
  bool has_ended = false;  ///< its finish was sent

  std::int64_t prompt_tokens() const { return std::ssize(of->request.prompt); }
  std::int64_t drawn_tokens() const { return std::ssize(tokens) - prompt_tokens(); }
  /// Tokens that steps can still take, the unseen one too.
  std::int64_t pending() const { return std::ssize(tokens) + unseen - launched; }
  bool embeds() const { return of->request.embeds; }
  bool next_is_unseen() const { return launched == std::ssize(tokens); }
};

/// The sequences of a request, ready to queue.
///
/// Errors: invalid, naming the value, if the request is not one that `contract` allows.
std::vector<std::unique_ptr<Sequence>> make_sequences(const contract::Contract& contract,
                                                      Request request, Ticket ticket, Sink& sink);

}  // namespace parhelion::serve
