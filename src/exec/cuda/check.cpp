#include "exec/cuda/check.h"

#include "base/error.h"

namespace parhelion::exec::cuda {

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  const ErrorKind kind =
      status == cudaErrorMemoryAllocation ? ErrorKind::exhausted : ErrorKind::device;
  fail(kind, "{}: {}", what, cudaGetErrorString(status));
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const ErrorKind kind =
      status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorKind::exhausted : ErrorKind::device;
  fail(kind, "{}: {}", what, cublasLtGetStatusString(status));
}

}  // namespace parhelion::exec::cuda
