#include "serve/sampling/logit_edits.h"

#include "base/error.h"
#include "serve/sampling/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace parhelion::serve {
namespace {

struct Penalties {
  double repetition, presence, frequency;
};

Penalties penalties_of(const contract::SamplingPolicy& policy, const Request& request) {
  return {effective(policy.repetition_penalty, request.repetition_penalty),
          effective(policy.presence_penalty, request.presence_penalty),
          effective(policy.frequency_penalty, request.frequency_penalty)};
}

void check_edit_id(std::string_view what, std::int32_t id, std::int64_t vocabulary) {
  ensure(id >= 0 && id < vocabulary, ErrorKind::invalid, "{}: id {}, expected 0 to {}", what, id,
         vocabulary - 1);
}

void check_penalties(const Request& request) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  check_legal("repetition_penalty", request.repetition_penalty, kLeast, 1e6);
  check_legal("presence_penalty", request.presence_penalty, -2, 2);
  check_legal("frequency_penalty", request.frequency_penalty, -2, 2);
}

/// The most tokens that a sequence can draw before its context ends.
std::int64_t most_drawn(const contract::Contract& contract, const Request& request) {
  const std::int64_t room = contract.cache.context_tokens + 1 - std::ssize(request.prompt);
  return std::min(request.max_tokens, std::max<std::int64_t>(room, 0));
}

std::size_t mask_words(std::int64_t vocabulary) {
  return static_cast<std::size_t>((vocabulary + 31) / 32);
}

void set_bit(std::span<std::uint32_t> bits, std::int32_t id, bool value) {
  const auto at = static_cast<std::uint32_t>(id);
  const std::uint32_t bit = 1u << (at % 32);
  bits[at / 32] = value ? bits[at / 32] | bit : bits[at / 32] & ~bit;
}

/// Sets the first `count` bits, and clears those behind.
void set_first(std::span<std::uint32_t> bits, std::int64_t count) {
  std::ranges::fill(bits, ~0u);
  if (count % 32 != 0) bits.back() = (1u << (count % 32)) - 1;
}

}  // namespace

bool LogitEdits::are_asked(const contract::SamplingPolicy& policy, const Request& request) {
  const Penalties penalties = penalties_of(policy, request);
  return penalties.repetition != 1 || penalties.presence != 0 || penalties.frequency != 0 ||
         request.min_tokens > 0 || request.top_tokens > 0 || !request.logit_bias.empty() ||
         !request.bad_ids.empty() || !request.allowed_ids.empty() || request.token_mask;
}

LogitEdits::LogitEdits(const contract::Contract& contract, const Request& request)
    : min_tokens_(request.min_tokens), early_stop_ids_(request.stop_ids) {
  check_penalties(request);
  const Penalties penalties = penalties_of(contract.sampling, request);
  repetition_ = static_cast<float>(penalties.repetition);
  presence_ = static_cast<float>(penalties.presence);
  frequency_ = static_cast<float>(penalties.frequency);
  const bool has_penalties = repetition_ != 1.0f || presence_ != 0.0f || frequency_ != 0.0f;
  const std::int64_t prompt = std::ssize(request.prompt);
  const std::int64_t drawn = most_drawn(contract, request);
  const auto most = static_cast<std::size_t>(std::min(
      contract.vocabulary, (has_penalties ? prompt + drawn : 0) + std::ssize(request.logit_bias)));
  ids_.reserve(most);
  for (auto* values : {&bias_, &scale_, &subtract_, &counts_}) values->reserve(most);
  places_.assign(std::bit_ceil(2 * most + 1), -1);
  for (const auto& [id, bias] : request.logit_bias) {
    check_edit_id("logit_bias", id, contract.vocabulary);
    ensure(std::isfinite(bias) && std::abs(bias) <= 100, ErrorKind::invalid,
           "logit_bias: id {} has {}, expected -100 to 100", id, bias);
    add_bias(id, bias);
  }
  if (has_penalties) std::ranges::for_each(request.prompt, [&](auto id) { note_prompt(id); });
  most_ids_ = std::min(contract.vocabulary, ids() + (has_penalties ? drawn : 0));
  if (!request.ignore_stop_ids) {
    early_stop_ids_.insert(early_stop_ids_.end(), contract.stop_ids.begin(),
                           contract.stop_ids.end());
  }
  allow(contract, request);
  if (request.token_mask || min_tokens_ > 0 || !allowed_.empty())
    next_mask_.resize(mask_words(contract.vocabulary));
}

/// Bad ids are none that may be drawn, rather than ones of a bias, so that `view` sees when no id
/// is left.
void LogitEdits::allow(const contract::Contract& contract, const Request& request) {
  if (request.allowed_ids.empty() && request.bad_ids.empty()) return;
  allowed_.resize(mask_words(contract.vocabulary));
  if (request.allowed_ids.empty()) set_first(allowed_, contract.vocabulary);
  for (const std::int32_t id : request.allowed_ids) {
    check_edit_id("allowed_ids", id, contract.vocabulary);
    set_bit(allowed_, id, true);
  }
  for (const std::int32_t id : request.bad_ids) {
    check_edit_id("bad_ids", id, contract.vocabulary);
    set_bit(allowed_, id, false);
  }
}

/// The place of an id among the edits, which it gets if it has none.
std::size_t LogitEdits::entry(std::int32_t id) {
  const std::size_t last = places_.size() - 1;
  const std::uint32_t hash = static_cast<std::uint32_t>(id) * 0x9e3779b9u;
  std::size_t at = hash & last;
  for (; places_[at] >= 0; at = (at + 1) & last) {
    const auto place = static_cast<std::size_t>(places_[at]);
    if (ids_[place] == id) return place;
  }
  places_[at] = static_cast<std::int32_t>(ids_.size());
  ids_.push_back(id);
  bias_.push_back(0);
  scale_.push_back(1);
  subtract_.push_back(0);
  counts_.push_back(0);
  return ids_.size() - 1;
}

void LogitEdits::add_bias(std::int32_t id, float bias) { bias_[entry(id)] += bias; }

void LogitEdits::note_prompt(std::int32_t id) {
  if (repetition_ != 1.0f) scale_[entry(id)] = repetition_;
}

void LogitEdits::note_drawn(std::int32_t id) {
  if (repetition_ == 1.0f && presence_ == 0.0f && frequency_ == 0.0f) return;
  const std::size_t place = entry(id);
  scale_[place] = repetition_;
  counts_[place] += 1;
  subtract_[place] = frequency_ * counts_[place] + presence_;
}

const LogitEditsView* LogitEdits::view(TokenMask* mask, std::int64_t drawn) {
  view_ = {.ids = ids_, .bias = bias_, .scale = scale_, .subtract = subtract_, .mask = {}};
  if (next_mask_.empty()) return &view_;
  std::ranges::fill(next_mask_, ~0u);
  if (mask != nullptr) mask->fill(next_mask_);
  for (std::size_t i = 0; i < allowed_.size(); ++i) next_mask_[i] &= allowed_[i];
  if (drawn < min_tokens_)
    for (const std::int32_t id : early_stop_ids_) set_bit(next_mask_, id, false);
  view_.mask = next_mask_;
  const bool leaves_none =
      std::ranges::all_of(next_mask_, [](std::uint32_t word) { return word == 0; });
  return leaves_none ? nullptr : &view_;
}

}  // namespace parhelion::serve
