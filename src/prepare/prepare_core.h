#pragma once

#include "contract/core_writer.h"
#include "exec/executor.h"
#include "model/open.h"
#include "prepare/compose.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace parhelion::prepare {

/// What a phase of a preparation took.
struct PhaseReport {
  std::string_view name;
  double seconds = 0;
  std::int64_t memory_bytes = 0;  ///< the most that was seen of the process's own, files apart
  std::string said;               ///< what came of it, lines
};

/// How a core is prepared.
struct PrepareOptions {
  CoreSettings core = {};
  std::int64_t most_instances = 24;
  contract::CoreOptions file = {};
  /// Makes what plans are tried on; none: kernels are left to the server.
  std::function<std::unique_ptr<exec::Executor>()> executor = {};
  std::function<void(const PhaseReport&)> on_phase = [](const PhaseReport&) {};
  std::function<bool()> is_wanted = [] { return true; };  ///< false ends it with an error
};

/// The contract of a model's core with memory plans, and kernels if there is an executor; without
/// weights and ledger. Phases: compose, memory, kernels.
///
/// Errors: as compose, check_instance_count and choose_kernels.
contract::Contract plan_core(const model::OpenedModel& opened, const PrepareOptions& options);

/// Prepares a model: plans it, and writes its core, all of it or nothing. Equal models and options
/// give equal bytes. Phases besides: weights, file.
///
/// Errors: as plan_core, write_weights and contract::CoreWriter.
void prepare_core(const model::OpenedModel& opened, const PrepareOptions& options,
                  const std::filesystem::path& path);

}  // namespace parhelion::prepare
