#include "base/error.h"
#include "exec/cuda/cuda_executor.h"

namespace parhelion::exec {

namespace {

[[noreturn]] void fail_without_cuda() {
  fail(ErrorKind::unsupported,
       "cuda: this build has no CUDA, expected one configured with -DPARHELION_CUDA=ON");
}

}  // namespace

CudaDevice cuda_device(int) { fail_without_cuda(); }

std::unique_ptr<Executor> make_cuda_executor(const CudaOptions&) { fail_without_cuda(); }

}  // namespace parhelion::exec
