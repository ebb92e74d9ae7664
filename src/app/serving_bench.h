#pragma once

#include "exec/executor.h"
#include "model/model.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace parhelion::app {

/// What to time of a model's serving program.
struct ServingBench {
  ir::Kind kind = ir::Kind::bf16;
  std::vector<std::int64_t> batches;   ///< rows that decode at once
  std::vector<std::int64_t> contexts;  ///< tokens that each of them has in its pages
  std::vector<std::int64_t> prompts;   ///< tokens of a prompt that one step reads
  int steps = 50;                      ///< timed, of each
  bool profile = false;                ///< times each kernel too
};

using NamedSeconds = std::vector<std::pair<std::string, double>>;

/// One shape's times. Medians.
struct ServingTime {
  std::string phase;  ///< decode or prefill
  std::int64_t rows = 0;
  std::int64_t context_tokens = 0;
  double step_seconds = 0;    ///< from the inputs on the host to the answers on the host
  double device_seconds = 0;  ///< the same where steps follow each other without the host
  double tokens_per_second = 0;
  double floor_bytes = 0;  ///< weights and keys and values, each read once
  /// Of one step by kernel and by op family, longest first; where `profile` asks for it. Ops that
  /// one kernel runs count as the first of them.
  NamedSeconds kernel_seconds = {};
  NamedSeconds family_seconds = {};
};

/// Plans the serving program at every shape; then `upload` gives the executor its weights, and each
/// shape is timed.
///
/// Errors: invalid if a context is longer than the model's positions.
std::vector<ServingTime> time_serving(const model::Model& model, const ServingBench& bench,
                                      exec::Executor& executor,
                                      const std::function<void()>& upload);

}  // namespace parhelion::app
