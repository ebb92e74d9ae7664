#pragma once

#include "ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::contract {

/// A sampling value: what it is when a request does not say, and between which bounds a request may
/// set it.
struct SamplingValue {
  double standard = 0;
  double lowest = 0;
  double highest = 0;
};

/// Sampling of a model, as its author means it. Greedy (temperature 0) is always in range.
struct SamplingPolicy {
  SamplingValue temperature;
  SamplingValue top_k;  ///< whole numbers, 0 = off
  SamplingValue top_p;
  SamplingValue min_p;
};

/// How keys and values are stored: every cache buffer of the program is [pages, page_tokens, ...].
/// Page 0 is the null page.
struct CachePolicy {
  std::int64_t page_tokens = 0;
  std::int64_t context_tokens = 0;  ///< the longest sequence
};

/// All that a server needs to know of a model, usable without a file.
///
/// `extend` has the inputs token_ids, positions, query_indptr, kv_length, page_table,
/// write_location, logit_index, target_ids, temperature, top_k, top_p, min_p, seed, draw_offset and
/// the outputs log_probability, sampled_ids, sampled_log_probability.
struct Contract {
  std::string model;
  ir::Program extend;  ///< symbolic; each row of the catalogue is one instance of it
  std::vector<ir::Capacities> catalogue;  ///< tokens, rows and logit_rows of each instance
  std::int64_t vocabulary = 0;
  CachePolicy cache;
  SamplingPolicy sampling;
  std::vector<std::int32_t> stop_ids;  ///< ids that end a completion
};

/// Refuses a contract that a server could not run.
///
/// Errors: invalid, naming the field.
void validate(const Contract& contract);

}  // namespace parhelion::contract
