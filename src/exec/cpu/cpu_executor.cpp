#include "exec/cpu/cpu_executor.h"

#include "base/error.h"
#include "exec/cpu/cpu_plan.h"

#include <algorithm>
#include <cstring>

namespace parhelion::exec {
namespace {

cpu::Tier tier_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::portable:
      return cpu::Tier::portable;
    case CpuLevel::avx2:
      return cpu::Tier::avx2;
    case CpuLevel::avx512:
      return cpu::Tier::avx512;
    case CpuLevel::widest:
      return cpu::widest_tier();
  }
  return cpu::Tier::portable;
}

class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(const cpu::Device& device) : device_(device), buffers_(device) {}

  std::unique_ptr<Plan> plan(const ir::Program& instance, Weights weights) override {
    return std::make_unique<cpu::CpuPlan>(instance, weights, device_, buffers_, arenas_);
  }
  void upload(std::string_view name,
              const std::function<void(std::span<std::byte>)>& fill) override {
    buffers_.upload(name, fill);
  }
  std::span<const std::byte> download(std::string_view name) override {
    return buffers_.plain(name);
  }
  std::shared_ptr<std::byte> snapshot_memory(std::int64_t bytes) override {
    const auto memory = std::make_shared<cpu::Memory>(bytes);
    return {memory, memory->data()};
  }
  void copy_out(std::string_view name, std::span<std::byte> out) override {
    std::ranges::copy(buffers_.plain(name), out.begin());
  }
  void clear(std::string_view name) override {
    std::ranges::fill(buffers_.plain(name), std::byte{0});
  }
  std::vector<ir::Buffer> parameters() const override { return buffers_.parameters(); }
  std::string describe() const override {
    return fmt::format("cpu, {}, {} thread{}", cpu::name(device_.tier), device_.threads,
                       device_.threads == 1 ? "" : "s");
  }

 private:
  cpu::Device device_;
  cpu::Buffers buffers_;
  cpu::Arenas arenas_;
};

}  // namespace

std::unique_ptr<Executor> make_cpu_executor(const CpuOptions& options) {
  ensure(options.threads >= 1, ErrorKind::invalid, "threads: is {}, expected at least 1",
         options.threads);
  const cpu::Tier tier = tier_of(options.level);
  ensure(tier <= cpu::widest_tier(), ErrorKind::unsupported, "cpu: this processor runs {}, not {}",
         cpu::name(cpu::widest_tier()), cpu::name(tier));
  return std::make_unique<CpuExecutor>(cpu::Device{.tier = tier, .threads = options.threads});
}

}  // namespace parhelion::exec
