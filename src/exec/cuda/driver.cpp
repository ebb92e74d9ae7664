#include "exec/cuda/driver.h"

#include "base/error.h"
#include "exec/cuda/check.h"

namespace parhelion::exec::cuda {
namespace {

template <class Function>
void look_up(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result),
        name);
  ensure(found != nullptr && result == cudaDriverEntryPointSuccess, ErrorKind::device,
         "cuda: the driver has no {}", name);
  function = reinterpret_cast<Function>(found);
}

Driver look_up_all() {
  Driver result;
  look_up("cuMemAddressReserve", result.address_reserve);
  look_up("cuMemAddressFree", result.address_free);
  look_up("cuMemCreate", result.create);
  look_up("cuMemRelease", result.release);
  look_up("cuMemMap", result.map);
  look_up("cuMemUnmap", result.unmap);
  look_up("cuMemSetAccess", result.set_access);
  look_up("cuMemGetAllocationGranularity", result.granularity);
  look_up("cuTensorMapEncodeTiled", result.tensor_map);
  return result;
}

}  // namespace

const Driver& driver() {
  static const Driver result = look_up_all();
  return result;
}

void check(CUresult status, std::string_view what) {
  if (status == CUDA_SUCCESS) return;
  const ErrorKind kind =
      status == CUDA_ERROR_OUT_OF_MEMORY ? ErrorKind::exhausted : ErrorKind::device;
  fail(kind, "{}: driver error {}", what, static_cast<int>(status));
}

}  // namespace parhelion::exec::cuda
