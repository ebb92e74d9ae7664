#include "exec/cuda/kernels/update.h"

#include "exec/cuda/device_table.h"
#include "exec/cuda/ops/families.h"

#include <utility>

namespace parhelion::exec::cuda {
namespace {

/// Operands of one op among those of a group.
struct UpdateOperands {
  std::span<std::byte*const> inputs, outputs;

  template <class T>
  const T* in(std::size_t index) const {
    return reinterpret_cast<const T*>(inputs[index]);
  }
};

AdamItem adam_item(const OpView& op) {
  const auto& update = std::get<ir::AdamUpdate>(op.node.op);
  return {.count = count_of(op.inputs[0]),
          .tag = update.tag,
          .lr_scale = update.lr_scale,
          .weight_decay = update.weight_decay,
          .keep_1 = static_cast<float>(update.beta1),
          .take_1 = static_cast<float>(1 - update.beta1),
          .keep_2 = static_cast<float>(update.beta2),
          .take_2 = static_cast<float>(1 - update.beta2),
          .eps = static_cast<float>(update.eps),
          .kind = update.master ? ir::Kind::f32 : op.inputs[0].kind(),
          .moment_kind = op.inputs[2].kind(),
          .decoupled = update.decoupled,
          .amsgrad = update.amsgrad,
          .master = update.master,
          .stochastic = update.rounding == ir::Rounding::stochastic};
}

/// What is updated, and its copy where that is a master.
template <class Item>
void bind_parameter(Item& item, const UpdateOperands& at) {
  item.p = item.master ? at.outputs.back() : at.outputs.front();
  item.copy = item.master ? reinterpret_cast<__nv_bfloat16*>(at.outputs.front()) : nullptr;
}

void bind_update(AdamItem& item, const UpdateOperands& at) {
  const std::size_t tensors = at.outputs.size() + 1;
  bind_parameter(item, at);
  item.g = at.in<float>(1);
  item.m = at.outputs[1];
  item.v = at.outputs[2];
  item.v_max = item.amsgrad ? at.outputs[3] : nullptr;
  item.scale = at.in<float>(tensors);
  item.lr = at.in<float>(tensors + 1);
  item.correction = at.in<float>(tensors + 2);
  item.seed = at.in<std::uint64_t>(tensors + 3);
}

SgdItem sgd_item(const OpView& op) {
  const auto& update = std::get<ir::SgdUpdate>(op.node.op);
  return {.count = count_of(op.inputs[0]),
          .tag = update.tag,
          .lr_scale = update.lr_scale,
          .weight_decay = static_cast<float>(update.weight_decay),
          .momentum = static_cast<float>(update.momentum),
          .kind = update.master ? ir::Kind::f32 : op.inputs[0].kind(),
          .momentum_kind = op.inputs[update.momentum == 0 ? 1 : 2].kind(),
          .nesterov = update.nesterov,
          .has_momentum = update.momentum != 0,
          .master = update.master,
          .stochastic = update.rounding == ir::Rounding::stochastic};
}

void bind_update(SgdItem& item, const UpdateOperands& at) {
  const std::size_t tensors = at.outputs.size() + 1;
  bind_parameter(item, at);
  item.g = at.in<float>(1);
  item.b = item.has_momentum ? at.outputs[1] : nullptr;
  item.scale = at.in<float>(tensors);
  item.lr = at.in<float>(tensors + 1);
  item.gain = at.in<float>(tensors + 2);
  item.seed = at.in<std::uint64_t>(tensors + 3);
}

/// Updates of several parameters in one launch.
template <class Item>
class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(std::span<const OpView> ops, Item (*item_of)(const OpView&)) {
    for (const OpView& op : ops) {
      items_.push_back(item_of(op));
      operands_.emplace_back(op.inputs.size(), op.outputs.size());
    }
  }

  void bind(const LaunchArgs& args) override {
    std::vector<UpdateChunk> chunks;
    std::size_t input = 0, output = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto [inputs, outputs] = operands_[i];
      bind_update(items_[i],
                  {args.inputs.subspan(input, inputs), args.outputs.subspan(output, outputs)});
      input += inputs;
      output += outputs;
      for (std::int64_t first = 0; first < items_[i].count; first += kUpdateChunk)
        chunks.push_back({static_cast<std::int64_t>(i), first});
    }
    chunk_count_ = std::ssize(chunks);
    item_table_ = device_table<Item>(items_, args.stream);
    chunk_table_ = device_table<UpdateChunk>(chunks, args.stream);
  }

  void launch(const LaunchArgs& args) override {
    update(UpdateTable<Item>{.items = reinterpret_cast<const Item*>(item_table_.data()),
                             .chunks = reinterpret_cast<const UpdateChunk*>(chunk_table_.data()),
                             .chunk_count = chunk_count_,
                             .gate = args.gate},
           args.stream);
  }

 private:
  std::vector<Item> items_;
  std::vector<std::pair<std::size_t, std::size_t>> operands_;  // how many inputs and outputs
  std::int64_t chunk_count_ = 0;
  DeviceMemory item_table_, chunk_table_;
};

std::unique_ptr<Kernel> plan_adam(std::span<const OpView> ops, const Device&) {
  return std::make_unique<UpdateKernel<AdamItem>>(ops, adam_item);
}

std::unique_ptr<Kernel> plan_sgd(std::span<const OpView> ops, const Device&) {
  return std::make_unique<UpdateKernel<SgdItem>>(ops, sgd_item);
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::AdamUpdate&) {
  return {{.name = "adam_update",
           .refuses = never_refuses,
           .numerics = own_numerics,
           .plan =
               [](const OpView& op, const Device& device) {
                 return plan_adam({&op, 1}, device);
               },
           .plan_group = plan_adam,
           .gated = true}};
}

std::vector<Candidate> family_candidates(const ir::SgdUpdate&) {
  return {{.name = "sgd_update",
           .refuses = never_refuses,
           .numerics = own_numerics,
           .plan =
               [](const OpView& op, const Device& device) {
                 return plan_sgd({&op, 1}, device);
               },
           .plan_group = plan_sgd,
           .gated = true}};
}

}  // namespace parhelion::exec::cuda
