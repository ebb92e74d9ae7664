#pragma once

#include "base/json.h"
#include "ir/program.h"
#include "train/config/job.h"

#include <string>

namespace parhelion::train {

/// Tells jobs apart whose checkpoints do not fit each other: a hash of the step program's buffers
/// (model, adapters, kind of optimizer), the documents' key, how they are packed and ordered, the
/// seed, and for adapters their scale, dropout and the digest of the weights under them. Learning
/// rate, length of the run, clipping and what is logged may change on resume.
std::string job_digest(const Job& job, const ir::Program& step, const std::string& documents_key,
                       const std::string& base_digest);

/// The keys of a job that its digest depends on and that have other values in `job` than in
/// `saved`, as write_job gave it, with both values. If there are none, names whose contents differ.
std::string describe_job_change(const Json& saved, const Job& job);

}  // namespace parhelion::train
