#pragma once

#include "train/config/job.h"

#include <string_view>

namespace parhelion::train {

/// Checks what types cannot say: ranges, and keys that are at odds.
///
/// Errors: invalid, with a line for each; `where` begins each line.
void check_job(const Job& job, std::string_view where);

}  // namespace parhelion::train
