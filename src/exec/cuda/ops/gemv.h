#pragma once

#include "exec/cuda/candidate.h"

namespace parhelion::exec::cuda {

/// Candidates for one row of bf16 by frozen weights, under fast numerics: the kernel may begin
/// before the one ahead has ended.
Candidate gemv_of_mat_mul();
Candidate gemv_of_gate_up();

}  // namespace parhelion::exec::cuda
