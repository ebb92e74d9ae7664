#pragma once

#include "contract/contract.h"
#include "exec/executor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace parhelion::serve {

/// How one token is drawn.
struct SamplingParameters {
  float temperature = 0;
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  std::uint64_t seed = 0;
};

/// What is asked of the logits of one new token.
struct LogitQuery {
  std::int64_t token = 0;    ///< index among the row's new tokens
  std::int32_t target = -1;  ///< whose log-probability to report; -1 = none
  SamplingParameters sampling;
};

/// The answer to a LogitQuery.
struct LogitAnswer {
  float target_log_probability = 0;
  std::int32_t sampled = -1;  ///< -1 where the logits have no finite maximum
  float sampled_log_probability = 0;
};

/// A sequence that advances: its new tokens, the position of the first, and its pages, which hold
/// them too.
struct StepRow {
  std::span<const std::int32_t> tokens;
  std::int64_t position = 0;
  std::span<const std::int32_t> pages;
  std::span<const LogitQuery> queries;
};

/// Runs steps of the extend program: one plan for each instance of the catalogue.
class Stepper {
 public:
  /// Plans every instance over `pages` pages, the null page with them. Upload the parameters to
  /// `executor` afterwards, unless they are there.
  Stepper(const contract::Contract& contract, exec::Executor& executor, exec::Weights weights,
          std::int64_t pages);

  /// Runs the smallest instance that covers the rows. The answers stand in the order of rows and
  /// queries until the next step. Draws are keyed by seed and the position that the drawn token
  /// will have.
  ///
  /// Errors: bug if no instance covers the rows.
  std::span<const LogitAnswer> run(std::span<const StepRow> rows);

  /// The instances, the smallest first, and which of them ran last.
  std::span<const ir::Capacities> catalogue() const { return catalogue_; }
  std::size_t last_instance() const { return last_instance_; }

  std::span<const std::unique_ptr<exec::Plan>> plans() const { return plans_; }

 private:
  std::int64_t page_tokens_;
  std::vector<ir::Capacities> catalogue_;  // beside plans_, smallest first
  std::vector<std::unique_ptr<exec::Plan>> plans_;
  std::vector<LogitAnswer> answers_;
  std::size_t last_instance_ = 0;
};

}  // namespace parhelion::serve
