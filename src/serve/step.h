#pragma once

#include "contract/contract.h"
#include "exec/executor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace parhelion::serve {

/// Likeliest tokens that a step with edits tells of each query.
inline constexpr std::size_t kMostTopTokens = 20;

/// How one token is drawn.
struct SamplingParameters {
  float temperature = 0;
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  std::uint64_t seed = 0;
};

/// How the logits of one new token are changed before it is drawn: entry by entry as
/// ir::EditLogits does.
struct LogitEditsView {
  std::span<const std::int32_t> ids;
  std::span<const float> bias, scale, subtract;  ///< as long as `ids`
  std::span<const std::uint32_t> mask;           ///< a bit an id; empty: all
};

/// What is asked of the logits of one new token.
struct LogitQuery {
  std::int64_t token = 0;    ///< index among the row's new tokens
  std::int32_t target = -1;  ///< whose log-probability to report; -1 = none
  SamplingParameters sampling;
  std::int32_t draw_slot = -1;  ///< where the device keeps the drawn token; -1 = nowhere
  const LogitEditsView* edits = nullptr;
};

/// The answer to a LogitQuery.
struct LogitAnswer {
  float target_log_probability = 0;
  std::int32_t sampled = -1;  ///< -1 where the logits have no finite maximum
  float sampled_log_probability = 0;
  std::span<const std::int32_t> top_ids = {};  ///< the likeliest first, of steps with edits
  std::span<const float> top_log_probabilities = {};
  std::span<const float> embedding = {};  ///< of steps that embed
};

/// A sequence that advances: its new tokens, the position of the first, and its pages, which hold
/// them too.
struct StepRow {
  std::span<const std::int32_t> tokens;
  std::int64_t position = 0;
  std::span<const std::int32_t> pages;
  std::span<const LogitQuery> queries;
  std::int32_t source_slot = -1;  ///< its one token is what this slot drew last
};

/// The instances of one program, smallest first.
struct InstanceSet {
  std::vector<ir::Capacities> catalogue;
  std::vector<std::int64_t> edits = {};  ///< beside it: edits of logits that a step has room for
  std::vector<std::unique_ptr<exec::Plan>> plans;
};

/// What a step's queries are answered with.
enum class StepKind : std::uint8_t {
  plain,   ///< draws from the logits
  edited,  ///< draws from edited logits
  embed,   ///< hidden states
};

/// Runs steps of the extend program: one plan for each instance of the catalogues.
class Stepper {
 public:
  /// Plans every instance over `pages` pages, the null page with them. Upload the parameters to
  /// `executor` afterwards, unless they are there.
  Stepper(const contract::Contract& contract, exec::Executor& executor, exec::Weights weights,
          std::int64_t pages);

  /// Writes the inputs of the smallest instance that covers the rows. The step started before may
  /// still run.
  ///
  /// Errors: bug if no instance covers the rows.
  void prepare(std::span<const StepRow> rows, StepKind kind);

  /// As above, of an instance that is known to cover them.
  void prepare(std::span<const StepRow> rows, StepKind kind, std::size_t instance);

  /// Starts the step that was prepared.
  void start();

  /// Waits for the step that was started last. Its answers stand in the order of rows and queries
  /// until the next call. Draws are keyed by seed and the position that the drawn token will have.
  std::span<const LogitAnswer> finish();

  /// Copies pages (source, destination) of every cache, before the step that starts next. Sources
  /// are no destinations.
  void copy_pages(std::span<const std::pair<std::int32_t, std::int32_t>> pages);

  const InstanceSet& instances(StepKind kind) const;
  bool can_edit() const { return !edited_.plans.empty(); }
  bool can_embed() const { return !embed_.plans.empty(); }
  bool can_copy_pages() const { return copy_ != nullptr; }
  std::int64_t slot_count() const { return slots_; }

  /// Which instance was started last.
  StepKind last_kind() const { return started_.kind; }
  std::size_t last_instance() const { return started_.instance; }

  std::span<const std::unique_ptr<exec::Plan>> plans() const { return plain_.plans; }

 private:
  struct Step {
    StepKind kind = StepKind::plain;
    std::size_t instance = 0;
    std::size_t queries = 0;
  };
  exec::Plan& plan_of(const Step& step) { return *instances(step.kind).plans[step.instance]; }
  void copy_answers(exec::Plan& plan);
  void copy_draws(exec::Plan& plan);
  void copy_embeddings(exec::Plan& plan);

  std::int64_t page_tokens_;
  std::int64_t slots_ = 0;
  InstanceSet plain_, edited_, embed_;
  std::unique_ptr<exec::Plan> copy_;
  Step prepared_, started_;
  std::vector<LogitAnswer> answers_;
  std::vector<std::int32_t> top_ids_;
  std::vector<float> top_log_probabilities_;
  std::size_t embedding_width_ = 0;
  std::vector<float> embeddings_;
};

}  // namespace parhelion::serve
