#include "app/http/quotas.h"

#include "app/http/api_error.h"

#include <algorithm>
#include <cmath>

namespace parhelion::app {
namespace {

constexpr double kMinute = 60;

[[noreturn]] void refuse_rate(std::string_view what, std::int64_t limit, double seconds) {
  throw RefusedRequest(
      {.status = 429,
       .code = "rate_limited",
       .message = fmt::format("the key's limit of {} {} is reached", limit, what),
       .retry_seconds = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(seconds)))});
}

}  // namespace

/// Limits are per minute, and so much may be saved.
void Quotas::refill(Account& account, std::int64_t per_minute, Clock::time_point now) {
  const bool is_new = account.filled == Clock::time_point{};
  account.tokens_most = static_cast<double>(per_minute);
  const double seconds = std::chrono::duration<double>(now - account.filled).count();
  const double more =
      is_new ? account.tokens_most : account.tokens_most * std::max(0.0, seconds) / kMinute;
  account.tokens_left = std::min(account.tokens_most, account.tokens_left + more);
  account.filled = now;
}

std::unique_ptr<Quotas::Lease> Quotas::take(const KeyFacts& key, std::int64_t sequences,
                                            std::int64_t tokens, Clock::time_point now) {
  const KeyLimits& limits = key.limits;
  if (limits.sequences > 0 && sequences > limits.sequences)
    refuse(400, "invalid_value",
           fmt::format("the answer has {} sequences, the key may have {} at a time", sequences,
                       limits.sequences));
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[key.label];
  if (limits.sequences > 0 && account.sequences + sequences > limits.sequences)
    refuse_rate("sequences at a time", limits.sequences, 1);
  if (limits.queued > 0 && account.waiting >= limits.queued)
    refuse_rate("requests that wait", limits.queued, 1);
  std::int64_t taken = 0;
  if (limits.tokens_per_minute > 0) {
    refill(account, limits.tokens_per_minute, now);
    // An answer that may be longer than a minute's tokens needs all of them.
    taken = std::min(tokens, limits.tokens_per_minute);
    const double lacking = static_cast<double>(taken) - account.tokens_left;
    if (lacking > 0)
      refuse_rate("tokens per minute", limits.tokens_per_minute,
                  lacking * kMinute / account.tokens_most);
    account.tokens_left -= static_cast<double>(taken);
  }
  account.sequences += sequences;
  ++account.waiting;
  return std::unique_ptr<Lease>(new Lease(*this, key.label, sequences, taken));
}

void Quotas::Lease::begin() {
  if (!waits_) return;
  waits_ = false;
  const std::lock_guard lock(quotas_.mutex_);
  --quotas_.accounts_[label_].waiting;
}

Quotas::Lease::~Lease() {
  begin();
  const std::lock_guard lock(quotas_.mutex_);
  Account& account = quotas_.accounts_[label_];
  account.sequences -= sequences_;
  if (account.tokens_most == 0) return;
  const auto unused = static_cast<double>(tokens_ - used_);
  account.tokens_left = std::min(account.tokens_most, account.tokens_left + unused);
}

}  // namespace parhelion::app
