#pragma once

#include "app/http/keys.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace parhelion::app {

/// Holds each key to its limits, whatever the others do.
///
/// Threads: any.
class Quotas {
 public:
  using Clock = std::chrono::steady_clock;

  /// What an answer takes of its key's limits, until it is destroyed. The quotas outlive it.
  class Lease {
   public:
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    /// The answer waits no more.
    void begin();
    /// How many tokens it really was; none unless told.
    void settle(std::int64_t tokens) { used_ = tokens; }

   private:
    friend class Quotas;
    Lease(Quotas& quotas, std::string label, std::int64_t sequences, std::int64_t tokens)
        : quotas_(quotas), label_(std::move(label)), sequences_(sequences), tokens_(tokens) {}
    Quotas& quotas_;
    std::string label_;
    std::int64_t sequences_;
    std::int64_t tokens_;  // taken of the minute's beforehand
    std::int64_t used_ = 0;
    bool waits_ = true;
  };

  /// Takes an answer's sequences, and the tokens of prompt and answer that it may need.
  ///
  /// Errors: 429 `rate_limited`, saying which limit and when to come again; 400 `invalid_value` for
  ///         more sequences than the key may ever have.
  std::unique_ptr<Lease> take(const KeyFacts& key, std::int64_t sequences, std::int64_t tokens,
                              Clock::time_point now = Clock::now());

 private:
  /// What the answers of a key take.
  struct Account {
    std::int64_t sequences = 0;
    std::int64_t waiting = 0;  // answers without a token
    double tokens_left = 0;    // of the minute's
    double tokens_most = 0;
    Clock::time_point filled = {};
  };
  static void refill(Account& account, std::int64_t per_minute, Clock::time_point now);

  std::mutex mutex_;
  std::map<std::string, Account> accounts_;  // guarded by mutex_
};

}  // namespace parhelion::app
