#include "exec/cuda/arena.h"

#include "base/error.h"
#include "exec/cuda/check.h"
#include "exec/cuda/driver.h"

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kArenaAddressBytes = std::int64_t{1} << 40;

CUmemAllocationProp properties_of(int ordinal) {
  CUmemAllocationProp result{};
  result.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  result.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  result.location.id = ordinal;
  return result;
}

double as_gib(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

}  // namespace

Arena::Arena(const char* what, int ordinal) : what_(what), ordinal_(ordinal) {
  const CUmemAllocationProp properties = properties_of(ordinal);
  std::size_t granularity = 0;
  check(driver().granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "cuMemGetAllocationGranularity");
  granularity_ = static_cast<std::int64_t>(granularity);
  check(driver().address_reserve(&address_, static_cast<std::size_t>(kArenaAddressBytes), 0, 0, 0),
        "cuMemAddressReserve");
}

Arena::~Arena() {
  release();
  driver().address_free(address_, static_cast<std::size_t>(kArenaAddressBytes));
}

void Arena::reserve(std::int64_t bytes) {
  if (bytes <= size_) return;
  add((bytes - size_ + granularity_ - 1) / granularity_ * granularity_);
}

void Arena::ensure_free(std::int64_t bytes) const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const auto left = static_cast<std::int64_t>(free_bytes);
  ensure(bytes <= left, ErrorKind::exhausted,
         "cuda: {} memory needs {:.2f} GiB more and {:.2f} of {:.2f} GiB are free: {:.2f} GiB are "
         "missing",
         what_, as_gib(bytes), as_gib(left), as_gib(static_cast<std::int64_t>(total_bytes)),
         as_gib(bytes - left));
}

void Arena::add(std::int64_t bytes) {
  ensure(size_ + bytes <= kArenaAddressBytes, ErrorKind::exhausted,
         "cuda: {} memory needs {:.2f} GiB, more than one range of addresses", what_,
         as_gib(size_ + bytes));
  ensure_free(bytes);
  const CUmemAllocationProp properties = properties_of(ordinal_);
  const auto count = static_cast<std::size_t>(bytes);
  CUmemGenericAllocationHandle block{};
  check(driver().create(&block, count, &properties, 0), "cuMemCreate");
  const CUdeviceptr begin = address_ + static_cast<CUdeviceptr>(size_);
  check(driver().map(begin, count, 0, block, 0), "cuMemMap");
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(driver().set_access(begin, count, &access, 1), "cuMemSetAccess");
  check(cudaMemset(data() + size_, 0, count), "cudaMemset");
  blocks_.push_back(block);
  block_bytes_.push_back(bytes);
  size_ += bytes;
}

void Arena::release() noexcept {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const CUdeviceptr begin = address_ + static_cast<CUdeviceptr>(offset);
    driver().unmap(begin, static_cast<std::size_t>(block_bytes_[i]));
    driver().release(blocks_[i]);
    offset += block_bytes_[i];
  }
  blocks_.clear();
}

void Arena::unmap() { release(); }

void Arena::map() {
  const std::int64_t bytes = size_;
  block_bytes_.clear();
  size_ = 0;
  reserve(bytes);
}

}  // namespace parhelion::exec::cuda
