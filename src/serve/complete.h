#pragma once

#include "serve/engine.h"

#include <chrono>
#include <cstdint>
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

/// Runs an engine until one request has ended; `on_id` sees each id as it is drawn.
///
/// Errors: as Engine::sequences_of; corrupt if the model's logits have no finite maximum.
Completion complete(Engine& engine, Request request,
                    const std::function<void(std::int32_t)>& on_id);

/// The log-probability of each id after the first under those before it.
///
/// Errors: as complete.
std::vector<float> score(Engine& engine, std::span<const std::int32_t> ids);

}  // namespace parhelion::serve
