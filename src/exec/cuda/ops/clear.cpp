#include "exec/cuda/kernels/clear.h"

#include "exec/cuda/device_table.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

/// Clears the buffers of several ops in one launch.
class ClearKernel final : public Kernel {
 public:
  explicit ClearKernel(std::span<const OpView> ops) {
    for (const OpView& op : ops) counts_.push_back(count_of(op.inputs[0]));
  }

  void bind(const LaunchArgs& args) override {
    std::vector<ClearChunk> chunks;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      for (std::int64_t first = 0; first < counts_[i]; first += kClearChunk) {
        chunks.push_back({.begin = args.out<float>(i) + first,
                          .count = std::min(kClearChunk, counts_[i] - first)});
      }
    }
    chunk_count_ = static_cast<std::int64_t>(chunks.size());
    table_ = device_table<ClearChunk>(chunks, args.stream);
  }

  void launch(const LaunchArgs& args) override {
    clear(reinterpret_cast<const ClearChunk*>(table_.data()), chunk_count_, args.gate, args.stream);
  }

 private:
  std::vector<std::int64_t> counts_;
  std::int64_t chunk_count_ = 0;
  DeviceMemory table_;
};

std::unique_ptr<Kernel> plan_clears(std::span<const OpView> ops, const Device&) {
  return std::make_unique<ClearKernel>(ops);
}

std::unique_ptr<Kernel> plan_clear(const OpView& op, const Device& device) {
  return plan_clears({&op, 1}, device);
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Clear&) {
  std::vector<Candidate> result = one_candidate("clear", plan_clear);
  result[0].plan_group = plan_clears;
  result[0].gated = true;
  return result;
}

}  // namespace parhelion::exec::cuda
