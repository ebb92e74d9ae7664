#pragma once

#include "serve/cache/page_pool.h"
#include "serve/request.h"
#include "serve/step.h"

#include <chrono>
#include <functional>
#include <span>
#include <vector>

namespace parhelion::serve {

struct Completion {
  std::vector<std::int32_t> ids = {};
  std::vector<float> log_probabilities = {};  ///< of each id under the model's own distribution
  FinishReason reason = FinishReason::length;
  std::chrono::duration<double> prefill{0};  ///< until the first id was drawn
  std::chrono::duration<double> decode{0};   ///< all ids after the first
};

/// Runs a contract. Holds one sequence at a time.
///
/// Threads: one thread uses an engine.
class Engine {
 public:
  /// Plans every instance of the contract. Upload the parameters to `executor` afterwards; trained
  /// ones which other plans of it have are read in place, as they are at each step.
  Engine(contract::Contract contract, exec::Executor& executor,
         exec::Weights weights = exec::Weights::frozen);

  /// Generates ids for a request; `on_id` sees each as it is drawn.
  ///
  /// Errors: invalid if the prompt is empty, has an id outside the vocabulary or does not fit the
  /// context, or if a sampling
  ///         value is no number in its legal range; corrupt if the model's logits have no finite
  ///         maximum.
  Completion generate(const Request& request, const std::function<void(std::int32_t)>& on_id);

  /// The log-probability of each id after the first under those before it, taking `chunk_tokens`
  /// ids a step (0 = as many as the catalogue allows).
  ///
  /// Errors: as generate; invalid if no instance has logit rows for a chunk.
  std::vector<float> score(std::span<const std::int32_t> ids, std::int64_t chunk_tokens);

  const contract::Contract& contract() const { return contract_; }
  const Stepper& stepper() const { return stepper_; }

 private:
  class Sequence;
  void check_ids(std::span<const std::int32_t> ids) const;
  void clear_caches();

  exec::Executor& executor_;
  contract::Contract contract_;
  Stepper stepper_;
  PagePool pool_;
};

}  // namespace parhelion::serve
