#include "exec/cuda/cuda_executor.h"

#include "base/error.h"
#include "exec/cuda/cuda_plan.h"
#include "exec/cuda/libraries.h"

namespace parhelion::exec {
namespace {

constexpr int kHopper = 90;

/// Errors: unsupported if there is no such GPU.
cudaDeviceProp device_properties(int ordinal) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  ensure(status == cudaSuccess, ErrorKind::unsupported, "cuda: no GPU can be used: {}",
         cudaGetErrorString(status));
  ensure(ordinal >= 0 && ordinal < count, ErrorKind::unsupported,
         "cuda: there is no GPU {}, expected one of 0 to {}", ordinal, count - 1);
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return properties;
}

/// Errors: unsupported if there is no such GPU or this build has no code for it.
cuda::Device open_device(const CudaOptions& options) {
  const cudaDeviceProp properties = device_properties(options.ordinal);
  cuda::check(cudaSetDevice(options.ordinal), "cudaSetDevice");
  const int capability = properties.major * 10 + properties.minor;
  ensure(capability == kHopper, ErrorKind::unsupported,
         "cuda: GPU {} ({}) has compute capability {}.{}, expected 9.0, for which this build has "
         "code",
         options.ordinal, properties.name, properties.major, properties.minor);
  return {.name = properties.name,
          .ordinal = options.ordinal,
          .compute_capability = capability,
          .multiprocessors = properties.multiProcessorCount,
          .numerics = options.numerics,
          .tf32 = options.tf32,
          .checks = options.checks,
          .fusions = options.fusions};
}

class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(const CudaOptions& options)
      : device_(open_device(options)),
        stream_(cuda::make_stream()),
        copy_stream_(cuda::make_stream()),
        libraries_(options.plan_cache),
        buffers_(device_, stream_.get()),
        arenas_(device_.ordinal) {
    device_.libraries = &libraries_;
  }

  std::unique_ptr<Plan> plan(const ir::Program& instance, Weights weights) override {
    return std::make_unique<cuda::CudaPlan>(instance, weights, device_, buffers_, arenas_,
                                            stream_.get());
  }
  void upload(std::string_view name,
              const std::function<void(std::span<std::byte>)>& fill) override {
    arenas_.copies.order(stream_.get());
    buffers_.upload(name, fill);
  }
  std::span<const std::byte> download(std::string_view name) override {
    return buffers_.download(name);
  }
  std::shared_ptr<std::byte> snapshot_memory(std::int64_t bytes) override {
    if (snapshot_bytes_ < bytes || snapshot_.use_count() > 1) {
      const auto memory = std::make_shared<cuda::PinnedMemory>(bytes);
      snapshot_ = {memory, memory->data()};
      snapshot_bytes_ = bytes;
    }
    return snapshot_;
  }
  void prepare_snapshots(std::int64_t bytes) override {
    snapshot_memory(bytes);
    arenas_.copies.reserve(bytes);
  }
  std::unique_ptr<KeptBuffers> keep(std::span<const std::string> names) override {
    std::vector<cuda::KeptSource> sources;
    for (const std::string& name : names) sources.push_back(buffers_.source(name));
    return arenas_.copies.keep(sources, stream_.get());
  }
  void copy_out(std::string_view name, std::span<std::byte> out) override {
    cuda::check(cudaSetDevice(device_.ordinal), "cudaSetDevice");  // of the calling thread
    buffers_.copy_out(name, out, copy_stream_.get());
  }
  void clear(std::string_view name) override {
    arenas_.copies.order(stream_.get());
    buffers_.clear(name);
  }
  void sleep() override {
    arenas_.copies.order(stream_.get());
    cuda::check(cudaStreamSynchronize(stream_.get()), "sleep");
    buffers_.sleep();
    for (cuda::Arena* each : {&arenas_.slot, &arenas_.transient, &arenas_.workspace}) each->unmap();
  }
  void wake() override {
    for (cuda::Arena* each : {&arenas_.slot, &arenas_.transient, &arenas_.workspace}) each->map();
    buffers_.wake();
  }
  std::vector<ir::Buffer> parameters() const override { return buffers_.parameters(); }
  std::string describe() const override {
    return fmt::format("cuda, {}, {}{}", device_.name, name(device_.numerics),
                       device_.tf32 ? ", tf32" : "");
  }

 private:
  cuda::Device device_;
  cuda::Stream stream_;
  cuda::Stream copy_stream_;  // of copy_out
  cuda::Libraries libraries_;
  cuda::Buffers buffers_;
  cuda::Arenas arenas_;
  std::shared_ptr<std::byte> snapshot_;
  std::int64_t snapshot_bytes_ = 0;
};

}  // namespace

CudaDevice cuda_device(int ordinal) {
  const cudaDeviceProp properties = device_properties(ordinal);
  return {.name = properties.name,
          .architecture = fmt::format("sm_{}{}", properties.major, properties.minor),
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)};
}

std::unique_ptr<Executor> make_cuda_executor(const CudaOptions& options) {
  return std::make_unique<CudaExecutor>(options);
}

}  // namespace parhelion::exec
