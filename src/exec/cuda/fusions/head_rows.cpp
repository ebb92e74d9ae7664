#include "exec/cuda/kernels/head_rows.h"

#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace parhelion::exec::cuda {
namespace {

/// The ops that one tensor passes through, as places among those of the fusion.
struct HeadOps {
  std::optional<std::size_t> norm, rope, write;
};

/// Takes ops one by one as long as they are steps of tensors of heads.
class HeadReader {
 public:
  /// False if `node` is no such step, or if there are too many tensors.
  bool add(const ir::OpNode& node) {
    if (node.gate || reads_more(node)) return false;
    const bool is_added = add_step(node);
    nodes_.push_back(&node);
    return is_added && tensors_.size() <= kMostHeadTasks;
  }

  const std::vector<HeadOps>& tensors() const { return tensors_; }
  /// False after a norm whose rope is to come.
  bool is_whole() const { return tensors_.empty() || !is_half(tensors_.back()); }
  /// Values that steps hand to each other.
  std::vector<ir::ValueId> handed() const {
    std::vector<ir::ValueId> result;
    for (const HeadOps& each : tensors_) {
      if (each.norm && each.rope) result.push_back(nodes_[*each.norm]->outputs[0]);
      if (each.rope && each.write) result.push_back(nodes_[*each.rope]->outputs[0]);
    }
    return result;
  }

 private:
  static bool is_half(const HeadOps& tensor) { return tensor.norm && !tensor.rope; }

  bool gives(std::size_t op, ir::ValueId value) const {
    return std::ranges::find(nodes_[op]->outputs, value) != nodes_[op]->outputs.end();
  }

  /// Whether operands besides the first are made by ops taken before.
  bool reads_more(const ir::OpNode& node) const {
    for (std::size_t input = 1; input < node.inputs.size(); ++input)
      for (std::size_t op = 0; op < nodes_.size(); ++op)
        if (gives(op, node.inputs[input].value)) return true;
    return false;
  }

  bool add_step(const ir::OpNode& node) {
    const std::size_t place = nodes_.size();
    const ir::ValueId x = node.inputs.empty() ? ir::ValueId{} : node.inputs[0].value;
    if (!tensors_.empty() && is_half(tensors_.back())) {
      const bool is_its_rope =
          std::holds_alternative<ir::Rope>(node.op) && gives(*tensors_.back().norm, x);
      if (is_its_rope) tensors_.back().rope = place;
      return is_its_rope;
    }
    if (std::holds_alternative<ir::PageWrite>(node.op)) return add_write(x, place);
    for (std::size_t op = 0; op < nodes_.size(); ++op)
      if (gives(op, x)) return false;
    if (std::holds_alternative<ir::RmsNorm>(node.op)) {
      tensors_.push_back({.norm = place, .rope = {}, .write = {}});
      return true;
    }
    if (!std::holds_alternative<ir::Rope>(node.op)) return false;
    tensors_.push_back({.norm = {}, .rope = place, .write = {}});
    return true;
  }

  bool add_write(ir::ValueId x, std::size_t place) {
    for (HeadOps& each : tensors_) {
      if (!each.rope || !gives(*each.rope, x)) continue;
      const bool is_first = !each.write;
      each.write = place;
      return is_first;
    }
    tensors_.push_back({.norm = {}, .rope = {}, .write = place});
    return true;
  }

  std::vector<const ir::OpNode*> nodes_;
  std::vector<HeadOps> tensors_;
};

std::size_t match_head_rows(const Uses& uses, std::size_t first, std::size_t most) {
  const std::vector<ir::OpNode>& ops = uses.instance().ops;
  HeadReader reader;
  std::size_t best = 0;
  for (std::size_t i = first; i < ops.size() && i - first < most; ++i) {
    if (!reader.add(ops[i])) break;
    const auto is_within = [&](ir::ValueId value) { return uses.is_within(value, first, i + 1); };
    if (reader.is_whole() && std::ranges::all_of(reader.handed(), is_within)) best = i + 1 - first;
  }
  return best > 1 ? best : 0;
}

std::vector<HeadOps> head_ops(std::span<const OpView> ops) {
  HeadReader reader;
  for (const OpView& op : ops) reader.add(op.node);
  return reader.tensors();
}

/// The op that first reads a tensor.
std::size_t first_of(const HeadOps& tensor) {
  return tensor.norm ? *tensor.norm : tensor.rope ? *tensor.rope : *tensor.write;
}

/// The tensor as its last step sees it: [tokens, heads, d].
const ir::TensorType& heads_of(std::span<const OpView> ops, const HeadOps& tensor) {
  return ops[tensor.rope ? *tensor.rope : *tensor.write].inputs[0];
}

std::string_view refuses_head_tensor(std::span<const OpView> ops, const HeadOps& tensor,
                                     const ir::TensorType& like) {
  const ir::TensorType& heads = heads_of(ops, tensor);
  if (heads.kind() != like.kind() || columns_of(heads) != columns_of(like))
    return "heads are not of one type";
  if (tensor.norm && columns_of(ops[*tensor.norm].inputs[0]) != columns_of(heads))
    return "rows of a norm are no heads";
  if (tensor.write && ops[*tensor.write].inputs[0] != heads)
    return "heads are written as others than they are turned";
  return rows_of(heads) <= std::numeric_limits<int>::max() ? "" : "there are too many rows";
}

std::string_view refuses_head_rows(std::span<const OpView> ops, const Device&) {
  const std::vector<HeadOps> tensors = head_ops(ops);
  const ir::TensorType& like = heads_of(ops, tensors.front());
  if (!can_turn_rows(like.kind(), columns_of(like))) return "halves of heads are no whole packs";
  for (const HeadOps& each : tensors) {
    const std::string_view reason = refuses_head_tensor(ops, each, like);
    if (!reason.empty()) return reason;
  }
  return {};
}

/// Only a norm's input is read where the same thread writes; other tensors are other threads'.
bool is_head_in_place(const ir::OpNode& reader, std::size_t input, const ir::OpNode& writer) {
  return std::holds_alternative<ir::RmsNorm>(reader.op) && input == 0 &&
         std::holds_alternative<ir::Rope>(writer.op) && writer.inputs[0].value == reader.outputs[0];
}

/// What is known of a tensor's task before its addresses.
HeadTask head_task(std::span<const OpView> ops, const HeadOps& tensor) {
  const ir::TensorType& heads = heads_of(ops, tensor);
  HeadTask task{.rows = rows_of(heads)};
  task.turn.heads = static_cast<int>(std::max<std::int64_t>(ir::number(heads.shape[1]), 1));
  if (tensor.norm)
    task.eps = static_cast<float>(std::get<ir::RmsNorm>(ops[*tensor.norm].node.op).eps);
  if (tensor.rope) {
    task.turn.max_position = ops[*tensor.rope].input_dim(2, 0);
    task.turn.inverse = std::get<ir::Rope>(ops[*tensor.rope].node.op).inverse;
  }
  if (tensor.write)
    task.capacity = ops[*tensor.write].input_dim(2, 0) * ops[*tensor.write].input_dim(2, 1);
  return task;
}

/// Places of a task's operands in LaunchArgs; only those of its steps are read.
struct HeadPlaces {
  std::size_t x = 0, norm = 0, rope = 0, write = 0, y = 0;
};

HeadPlaces head_places(std::span<const OpView> ops, const HeadOps& tensor) {
  HeadPlaces places{.x = first_input(ops, first_of(tensor))};
  if (tensor.norm) places.norm = first_input(ops, *tensor.norm);
  if (tensor.rope) places.rope = first_input(ops, *tensor.rope);
  if (tensor.write) places.write = first_input(ops, *tensor.write);
  places.y = first_output(ops, tensor.write ? *tensor.write : *tensor.rope);
  return places;
}

void bind_head_task(HeadTask& task, const HeadOps& tensor, const HeadPlaces& places,
                    const LaunchArgs& launch) {
  task.x = launch.inputs[places.x];
  task.y = launch.outputs[places.y];
  if (tensor.norm) task.w = launch.inputs[places.norm + 1];
  if (tensor.rope) {
    task.turn.positions = launch.in<std::int32_t>(places.rope + 1);
    task.turn.table = launch.in<float>(places.rope + 2);
  }
  if (tensor.write) task.location = launch.in<std::int64_t>(places.write + 1);
}

std::unique_ptr<Kernel> plan_head_rows(std::span<const OpView> ops, const Device&) {
  const std::vector<HeadOps> tensors = head_ops(ops);
  const ir::TensorType& like = heads_of(ops, tensors.front());
  HeadRows args{.kind = like.kind(), .d = columns_of(like), .tasks = {}};
  std::vector<HeadPlaces> places;
  for (const HeadOps& each : tensors) {
    args.tasks[args.task_count++] = head_task(ops, each);
    places.push_back(head_places(ops, each));
  }
  return make_kernel(0, [=](const LaunchArgs& launch) {
    HeadRows bound = args;
    for (std::size_t i = 0; i < bound.task_count; ++i)
      bind_head_task(bound.tasks[i], tensors[i], places[i], launch);
    head_rows(bound, launch.stream);
  });
}

}  // namespace

Fusion head_rows_fusion() {
  return {.name = "head_rows",
          .match = match_head_rows,
          .refuses = refuses_head_rows,
          .in_place = is_head_in_place,
          .numerics = nullptr,
          .plan = plan_head_rows};
}

}  // namespace parhelion::exec::cuda
