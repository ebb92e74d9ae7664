#pragma once

#include "app/served_engine.h"
#include "contract/contract.h"
#include "serve/step.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace parhelion::app {

/// How long each part of a start took.
class StartTimes {
 public:
  void end_part(std::string name);
  const std::vector<std::pair<std::string, double>>& parts() const { return parts_; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> parts_;
};

/// What turns texts into ids and back.
struct TextParts {
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat_template = {};
  text::ReplyFormat reply_format = {};
  std::optional<std::string> template_source = {};
};

/// What an engine is made from, whatever it was read from.
struct EngineStart {
  contract::Contract contract;
  std::unique_ptr<exec::Executor> executor;
  std::string device;                           ///< cpu or cuda
  std::string numerics;                         ///< the level it runs at
  std::function<void(exec::Executor&)> upload;  ///< gives it the weights
  std::function<TextParts()> read_text;         ///< may run on another thread
  std::string weights_id;                       ///< tells weights apart
  Json::Object facts = {};                      ///< of the file, for /v1/core
  std::function<void(const serve::Stepper&)> after_plan = [](const serve::Stepper&) {};
};

/// The start of a model as it is stored by others. Errors: as start_engine.
EngineStart start_of_model(const ServingChoice& choice, StartTimes& times);

/// The start of a core.
///
/// Errors: as contract::read_core; unsupported (DEVICE_MISMATCH) if device, numerics or
///         architecture are not those that it was prepared for; invalid (LIMIT_RAISED) if more is
///         asked for than it has, or what is decided when a core is prepared; exhausted
///         (BUDGET_EXCEEDED) if the device has not the memory.
EngineStart start_of_core(const ServingChoice& choice, StartTimes& times);

/// Tokens that all sequences may keep: what is asked for, or 2048 for each row and at least a
/// context; whole pages.
std::int64_t cache_tokens_of(const ServingChoice& choice, const contract::Contract& contract,
                             std::int64_t rows);

/// Sequences that a contract can run at a time.
std::int64_t rows_of(const contract::Contract& contract);

}  // namespace parhelion::app
