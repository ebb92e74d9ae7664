#pragma once

#include <cstdint>
#include <cuda.h>
#include <string_view>

namespace parhelion::exec::cuda {

/// The driver's calls for memory behind reserved addresses, and for maps of tensors. They are
/// looked up at run time, so that programs start on machines without a driver.
struct Driver {
  decltype(&cuMemAddressReserve) address_reserve = nullptr;
  decltype(&cuMemAddressFree) address_free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuTensorMapEncodeTiled) tensor_map = nullptr;
};

/// Errors: device if the driver lacks one.
const Driver& driver();

/// Errors: exhausted if memory ran out, else device.
void check(CUresult status, std::string_view what);

}  // namespace parhelion::exec::cuda
