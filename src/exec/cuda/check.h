#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <string_view>

namespace parhelion::exec::cuda {

/// Errors: exhausted if memory ran out, else device; `what` names the call.
void check(cudaError_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

}  // namespace parhelion::exec::cuda
