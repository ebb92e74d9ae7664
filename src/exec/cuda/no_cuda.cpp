#include "base/error.h"
#include "exec/cuda/cuda_executor.h"

namespace parhelion::exec {

std::unique_ptr<Executor> make_cuda_executor(const CudaOptions&) {
  fail(ErrorKind::unsupported,
       "cuda: this build has no CUDA, expected one configured with -DPARHELION_CUDA=ON");
}

}  // namespace parhelion::exec
