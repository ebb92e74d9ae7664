#include "exec/cuda/copy_room.h"

#include "base/error.h"

#include <algorithm>
#include <map>

namespace parhelion::exec::cuda {
namespace {

class DeviceCopies final : public KeptBuffers {
 public:
  DeviceCopies(int ordinal, cudaStream_t stream, std::shared_ptr<DeviceMemory> memory)
      : ordinal_(ordinal), stream_(stream), memory_(std::move(memory)) {}

  /// Begins to copy `source` behind what was added before.
  void add(const KeptSource& source) {
    std::byte* const to = memory_->data() + end_;
    check(cudaMemcpyAsync(to, source.data, static_cast<std::size_t>(source.bytes),
                          cudaMemcpyDeviceToDevice, stream_),
          source.name);
    copies_[source.name] = {to, static_cast<std::size_t>(source.bytes)};
    end_ += source.bytes;
  }

  void copy_out(std::string_view name, std::span<std::byte> out) override {
    const auto at = copies_.find(name);
    ensure(at != copies_.end() && at->second.size() == out.size(), ErrorKind::invalid,
           "buffer '{}': was not kept with {} bytes", name, out.size());
    check(cudaSetDevice(ordinal_), "cudaSetDevice");  // of the calling thread
    check(
        cudaMemcpyAsync(out.data(), at->second.data(), out.size(), cudaMemcpyDeviceToHost, stream_),
        name);
    check(cudaStreamSynchronize(stream_), name);
  }

 private:
  int ordinal_;
  cudaStream_t stream_;
  std::shared_ptr<DeviceMemory> memory_;
  std::int64_t end_ = 0;
  std::map<std::string, std::span<const std::byte>, std::less<>> copies_;
};

}  // namespace

CopyRoom::CopyRoom(int ordinal)
    : ordinal_(ordinal), stream_(make_stream()), begun_(make_event()), copied_(make_event()) {}

void CopyRoom::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  memory_.reset();
  bytes_ = 0;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (static_cast<std::int64_t>(free / 2) < bytes) return;
  memory_ = std::make_shared<DeviceMemory>(bytes);
  bytes_ = bytes;
}

std::unique_ptr<KeptBuffers> CopyRoom::keep(std::span<const KeptSource> sources,
                                            cudaStream_t after) {
  std::int64_t bytes = 0;
  for (const KeptSource& source : sources) bytes += source.bytes;
  if (bytes > bytes_ || memory_.use_count() > 1) return nullptr;
  check(cudaEventRecord(begun_.get(), after), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream_.get(), begun_.get()), "cudaStreamWaitEvent");
  auto copies = std::make_unique<DeviceCopies>(ordinal_, stream_.get(), memory_);
  copying_.clear();
  for (const KeptSource& source : sources) {
    copies->add(source);
    copying_.push_back(source.data);
  }
  std::ranges::sort(copying_);
  check(cudaEventRecord(copied_.get(), stream_.get()), "cudaEventRecord");
  return copies;
}

void CopyRoom::order(cudaStream_t stream) {
  if (copying_.empty()) return;
  check(cudaStreamWaitEvent(stream, copied_.get()), "cudaStreamWaitEvent");
  copying_.clear();
}

void CopyRoom::order_writes(std::span<std::byte* const> addresses, cudaStream_t stream) {
  const auto is_copied = [&](const std::byte* address) {
    return std::ranges::binary_search(copying_, address);
  };
  if (!copying_.empty() && std::ranges::any_of(addresses, is_copied)) order(stream);
}

}  // namespace parhelion::exec::cuda
