#pragma once

#include "contract/frontend.h"
#include "contract/origin.h"
#include "contract/policy.h"
#include "ir/memory_plan.h"
#include "ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::contract {

/// The kernel that runs one op.
struct KernelChoice {
  std::string kernel;           ///< the candidate's name
  std::string numerics = {};    ///< which bits it gives
  std::string parameters = {};  ///< bytes that the kernel understands
  bool operator==(const KernelChoice&) const = default;
};

/// What was decided for one instance of the catalogue.
struct InstancePlan {
  ir::MemoryPlan memory;                   ///< of `instantiate(extend, plan_capacities)`
  std::vector<KernelChoice> kernels = {};  ///< one an op; empty: chosen when planning
  bool operator==(const InstancePlan&) const = default;
};

/// All that a server needs to know of a model, usable without a file.
///
/// `extend` has the inputs token_ids, token_source, positions, query_indptr, kv_length, page_table,
/// write_location, logit_index, target_ids, temperature, top_k, top_p, min_p, seed, draw_offset,
/// draw_slot, the outputs log_probability, sampled_ids, sampled_log_probability and the state
/// drawn_tokens; every other state is a cache.
struct Contract {
  std::string model;
  ir::Program extend;  ///< symbolic; each row of the catalogue is one instance of it
  std::vector<ir::Capacities> catalogue;  ///< tokens, rows and logit_rows of each instance
  std::int64_t vocabulary = 0;
  CachePolicy cache;
  SamplingPolicy sampling;
  std::vector<std::int32_t> stop_ids;  ///< ids that end a completion
  Provenance provenance = {};
  Target target = {};
  Limits limits = {};
  Frontend frontend = {};
  std::vector<InstancePlan> plans = {};  ///< beside `catalogue`; empty: made when planning
  std::vector<PrecisionEntry> precision = {};
  std::int64_t completion_tokens = 0;  ///< most tokens one row may advance in one execution; 0 = 8
  std::int64_t verify_tokens = 1;      ///< most drafted tokens of a row that one execution checks
  bool operator==(const Contract&) const = default;
};

/// `completion_tokens`, or what its absence means.
std::int64_t completion_capacity(const Contract& contract);

/// The capacities that instance `index` is planned with: those of the catalogue, page tables as
/// long as the context, and the fewest pages that hold one context beside the null page. More pages
/// change the size of states alone.
///
/// Errors: invalid if the cache has no sizes.
ir::Capacities plan_capacities(const Contract& contract, std::size_t index);

/// A memory plan for each instance, without kernels.
///
/// Errors: those of ir::instantiate and ir::plan_memory.
std::vector<InstancePlan> plan_instances(const Contract& contract);

/// Refuses a contract that a server could not run.
///
/// Errors: invalid, naming every field that is wrong; as ir::verify.
void validate(const Contract& contract);

}  // namespace parhelion::contract
