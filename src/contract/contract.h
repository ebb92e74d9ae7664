#pragma once

#include "contract/frontend.h"
#include "contract/golden.h"
#include "contract/origin.h"
#include "contract/policy.h"
#include "ir/memory_plan.h"
#include "ir/program.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// Likeliest tokens that `edited` tells of.
inline constexpr std::int64_t kTopTokens = 20;

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
/// drawn_tokens; every other state is a cache. `edited` has besides the inputs edit_indptr,
/// edit_ids, edit_bias, edit_scale, edit_subtract, token_mask and the outputs top_ids,
/// top_log_probability, kTopTokens a row. `embed` has the inputs of `extend` up to logit_index and
/// the output embedding, f32[logit_rows, width]. `copy_pages` has the inputs source_page and
/// destination_page. Buffers of one name are one.
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
  ir::Program edited = {};             ///< `extend` with edits of logits; without ops: not offered
  std::vector<ir::Capacities> edited_catalogue = {};
  ir::Program copy_pages = {};  ///< copies pages of every cache; without ops: not offered
  std::vector<InstancePlan> edited_plans = {};  ///< as `plans`, beside `edited_catalogue`
  std::vector<InstancePlan> copy_plans = {};    ///< as `plans`: one, if pages can be copied
  ir::Program embed = {};                       ///< vectors of texts; without ops: not offered
  std::vector<ir::Capacities> embed_catalogue = {};
  std::vector<InstancePlan> embed_plans = {};  ///< as `plans`, beside `embed_catalogue`
  EmbeddingPolicy embedding = {};
  Golden golden = {};  ///< without probes: none are run
  bool operator==(const Contract&) const = default;
};

/// `completion_tokens`, or what its absence means.
std::int64_t completion_capacity(const Contract& contract);

/// Bytes of a page of every cache together.
std::int64_t page_bytes(const Contract& contract);

/// Numbers of a vector that `embed` gives; 0 if it is not offered.
std::int64_t embedding_width(const Contract& contract);

/// A program of a contract and how often it is instantiated.
struct EntryView {
  std::string_view name;
  const ir::Program* program = nullptr;
  std::vector<ir::Capacities> instances = {};  ///< what each is planned with
  const std::vector<InstancePlan>* plans = nullptr;
};

/// What the contract offers: `extend`, then `edited`, `copy_pages` and `embed` if they have ops.
///
/// Instances are planned with the capacities of their catalogue, page tables as long as the
/// context, and the fewest pages that hold one context beside the null page. More pages change the
/// size of states alone.
///
/// Errors: invalid if the cache has no sizes.
std::vector<EntryView> entries(const Contract& contract);

/// Gives every instance a memory plan, without kernels.
///
/// Errors: as entries, ir::instantiate and ir::plan_memory.
void plan_instances(Contract& contract);

/// Refuses a contract that a server could not run.
///
/// Errors: invalid, naming every field that is wrong; as ir::verify.
void validate(const Contract& contract);

}  // namespace parhelion::contract
