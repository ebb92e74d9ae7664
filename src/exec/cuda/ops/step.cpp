#include "exec/cuda/kernels/step.h"

#include "exec/cuda/device_table.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

/// Squared norms of several tensors in two launches.
class SquaredNormKernel final : public Kernel {
 public:
  explicit SquaredNormKernel(std::span<const OpView> ops) {
    std::int64_t blocks = 0;
    for (const OpView& op : ops) {
      counts_.push_back(count_of(op.inputs[0]));
      blocks += (counts_.back() + ir::kSquaredNormBlock - 1) / ir::kSquaredNormBlock;
    }
    workspace_bytes = aligned(blocks * std::int64_t{sizeof(float)});
  }

  void bind(const LaunchArgs& args) override {
    std::vector<NormBlock> blocks;
    std::vector<NormItem> items;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      NormItem item{.first_block = std::ssize(blocks), .y = args.out<float>(i)};
      for (std::int64_t first = 0; first < counts_[i]; first += ir::kSquaredNormBlock) {
        blocks.push_back({.x = args.in<float>(i) + first,
                          .count = std::min(ir::kSquaredNormBlock, counts_[i] - first)});
      }
      item.block_count = std::ssize(blocks) - item.first_block;
      items.push_back(item);
    }
    block_count_ = std::ssize(blocks);
    block_table_ = device_table<NormBlock>(blocks, args.stream);
    item_table_ = device_table<NormItem>(items, args.stream);
  }

  void launch(const LaunchArgs& args) override {
    squared_norms({.blocks = reinterpret_cast<const NormBlock*>(block_table_.data()),
                   .items = reinterpret_cast<const NormItem*>(item_table_.data()),
                   .block_sums = reinterpret_cast<float*>(args.workspace),
                   .block_count = block_count_,
                   .item_count = std::ssize(counts_)},
                  args.stream);
  }

 private:
  std::vector<std::int64_t> counts_;
  std::int64_t block_count_ = 0;
  DeviceMemory block_table_, item_table_;
};

std::unique_ptr<Kernel> plan_squared_norms(std::span<const OpView> ops, const Device&) {
  return std::make_unique<SquaredNormKernel>(ops);
}

std::unique_ptr<Kernel> plan_squared_norm(const OpView& op, const Device& device) {
  return plan_squared_norms({&op, 1}, device);
}

std::unique_ptr<Kernel> plan_step_scale(const OpView& op, const Device&) {
  const auto max_norm = static_cast<float>(std::get<ir::StepScale>(op.node.op).max_norm);
  return make_kernel(0, [=](const LaunchArgs& launch) {
    step_scale({.loss_sum = launch.in<float>(0),
                .weight = launch.in<float>(1),
                .squared_norm = launch.in<float>(2),
                .loss = launch.out<float>(0),
                .norm = launch.out<float>(1),
                .scale = launch.out<float>(2),
                .apply = launch.out<bool>(3),
                .max_norm = max_norm},
               launch.stream);
  });
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::SquaredNorm&) {
  std::vector<Candidate> result = one_candidate("squared_norm", plan_squared_norm);
  result[0].plan_group = plan_squared_norms;
  return result;
}

std::vector<Candidate> family_candidates(const ir::StepScale&) {
  return one_candidate("step_scale", plan_step_scale);
}

}  // namespace parhelion::exec::cuda
