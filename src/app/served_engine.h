#pragma once

#include "app/embedding_choice.h"
#include "app/executor.h"
#include "app/http/served_model.h"
#include "contract/core.h"
#include "ir/element.h"
#include "serve/engine_thread.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::app {

/// What to serve, on what, and how much of it at a time.
struct ServingChoice {
  std::filesystem::path model;
  std::filesystem::path adapter = {};
  std::string dtype = {};  ///< f32, bf16, or empty: that of the weights
  ExecutorChoice executor = {};
  std::string name = {};         ///< clients' name of it; empty: the path's last part
  bool names_device = false;     ///< a core must be made for the executor's device
  bool names_numerics = false;   ///< and for its numerics
  contract::Trust trust = {};    ///< which cores may be served
  std::int64_t rows = 0;         ///< sequences at a time; 0: 16, or those of the core
  std::int64_t step_tokens = 0;  ///< most tokens of a step; 0: 512, or those of the core
  std::int64_t context_tokens =
      0;  ///< the longest sequence; 0: the core's or model's, of a model at most 8192
  std::int64_t cache_tokens = 0;  ///< of all sequences; 0: 2048 for each row, or one context
  std::int64_t queue = 1024;      ///< sequences that may wait
  double step_seconds = 0.25;     ///< of a step beside sequences that decode
  double warm_seconds = -1;  ///< most time of warm-up; below 0: 0.1 on a processor, 60 on a GPU
  bool shares_prefixes = true;
  bool grows = false;  ///< pages are taken as sequences grow, not beforehand
  EmbeddingChoice embeddings = {};
};

/// An engine that runs, and what the API knows of its model.
struct ServedEngine {
  std::unique_ptr<exec::Executor> executor;  // outlives the engine
  std::unique_ptr<serve::EngineThread> engine;
  ServedModel model;
  std::int64_t cache_tokens = 0;
  std::vector<std::pair<std::string, double>> start_parts = {};  ///< seconds that each took
};

/// Loads a model or a core and starts its engine. `on_failure` hears why the engine ended.
///
/// Errors: as open_with_adapter, load_tokenizer, make_executor and serve::Engine; of a core as
///         start_of_core.
ServedEngine start_engine(const ServingChoice& choice,
                          std::function<void(std::string_view)> on_failure);

}  // namespace parhelion::app
