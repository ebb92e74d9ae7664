#pragma once

#include "contract/core.h"
#include "contract/core_writer.h"
#include "exec/executor.h"
#include "model/open.h"
#include "prepare/compose.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
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
  /// Runs probes on the contract with its weights; none: the core has no golden probes.
  std::function<contract::Golden(const contract::Contract&, std::span<const contract::WeightView>)>
      golden = {};
  bool keeps_work = false;  ///< the work directory stays when the core is whole
  std::function<void(const PhaseReport&)> on_phase = [](const PhaseReport&) {};
  std::function<bool()> is_wanted = [] { return true; };  ///< false ends it with an error
};

/// The contract of a model's core with memory plans, and kernels if there is an executor; without
/// weights and ledger. Phases: compose, memory, kernels.
///
/// Errors: as compose, check_instance_count and choose_kernels.
contract::Contract plan_core(const model::OpenedModel& opened, const PrepareOptions& options);

/// Prepares a model: plans it, and writes its core, all of it or nothing. Equal models and options
/// give equal bytes. Phases besides: weights, golden if it is asked for, file.
///
/// Weights are kept in the directory `path`.work until the core is whole. If this is stopped by
/// `is_wanted` or killed, the next call goes on at the weight where it was, provided that the
/// provenance names the source's files and all is equal that weights are made from. Where it ends
/// with another error the directory is removed.
///
/// Errors: as plan_core, WorkDirectory, write_weights, `golden` and contract::CoreWriter.
void prepare_core(const model::OpenedModel& opened, const PrepareOptions& options,
                  const std::filesystem::path& path);

}  // namespace parhelion::prepare
