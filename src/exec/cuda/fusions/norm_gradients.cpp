#include "exec/cuda/kernels/norm_gradients.h"

#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/ops/families.h"

#include <limits>
#include <optional>

namespace parhelion::exec::cuda {
namespace {

/// Where the ops of a fusion stand.
struct NormGradientOps {
  std::size_t count = 0;
  std::size_t input = 0;
  std::optional<std::size_t> rope, sum, weight;
};

bool reads(const ir::OpNode& node, std::size_t input, ir::ValueId value) {
  return node.inputs[input].value == value;
}

/// The structure of ops from the first on, of which all but the norm may be missing.
class NormGradientReader {
 public:
  NormGradientReader(const Uses& uses, std::size_t first, std::size_t most)
      : uses_(uses),
        first_(first),
        end_(most > uses.instance().ops.size() - first ? uses.instance().ops.size()
                                                       : first + most) {}

  NormGradientOps read() {
    read_rope();
    found_.input = next();
    if (node<ir::RmsNormGradInput>() == nullptr) return {};
    if (found_.rope && !reads(at(found_.input), 2, at(*found_.rope).outputs[0])) return {};
    ++found_.count;
    if (!found_.rope) read_sum();
    read_weight();
    return are_within() ? found_ : NormGradientOps{};
  }

 private:
  std::size_t next() const { return first_ + found_.count; }
  const ir::OpNode& at(std::size_t index) const { return uses_.instance().ops[index]; }
  template <class Op>
  const ir::OpNode* node() const {
    return next() < end_ ? uses_.find<Op>(next()) : nullptr;
  }

  void read_rope() {
    if (node<ir::Rope>() == nullptr) return;
    found_.rope = next();
    ++found_.count;
  }

  void read_sum() {
    const ir::OpNode* sum = node<ir::Binary>();
    const ir::ValueId dx = at(found_.input).outputs[0];
    if (sum == nullptr || std::get<ir::Binary>(sum->op).function != ir::BinaryFunction::add) return;
    if (reads(*sum, 0, dx) == reads(*sum, 1, dx)) return;
    found_.sum = next();
    ++found_.count;
  }

  void read_weight() {
    const ir::OpNode* weight = node<ir::RmsNormGradWeight>();
    const ir::OpNode& input = at(found_.input);
    if (weight == nullptr) return;
    const bool is_same_norm = reads(*weight, 0, input.inputs[0].value) &&
                              reads(*weight, 1, input.inputs[2].value) &&
                              std::get<ir::RmsNormGradWeight>(weight->op).eps ==
                                  std::get<ir::RmsNormGradInput>(input.op).eps &&
                              ir::input_types(uses_.instance(), *weight)[0].shape.back() ==
                                  ir::input_types(uses_.instance(), input)[0].shape.back();
    if (!is_same_norm) return;
    found_.weight = next();
    ++found_.count;
  }

  /// What ops hand on is read by the fusion alone, and as gradients.
  bool are_within() const {
    const std::size_t end = next();
    for (const std::size_t operand : {0u, 1u})
      if (uses_.is_made_in(at(found_.input).inputs[operand].value, first_, end)) return false;
    const auto is_within = [&](std::size_t op) {
      return uses_.is_within(at(op).outputs[0], first_, end);
    };
    return (!found_.rope || is_within(*found_.rope)) && (!found_.sum || is_within(found_.input));
  }

  const Uses& uses_;
  std::size_t first_, end_;
  NormGradientOps found_;
};

std::size_t match_norm_gradients(const Uses& uses, std::size_t first, std::size_t most) {
  return NormGradientReader(uses, first, most).read().count;
}

/// The same of ops that matched.
NormGradientOps norm_gradient_ops(std::span<const OpView> ops) {
  NormGradientOps found;
  found.count = ops.size();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ir::Op& op = ops[i].node.op;
    if (std::holds_alternative<ir::Rope>(op)) found.rope = i;
    if (std::holds_alternative<ir::RmsNormGradInput>(op)) found.input = i;
    if (std::holds_alternative<ir::Binary>(op)) found.sum = i;
    if (std::holds_alternative<ir::RmsNormGradWeight>(op)) found.weight = i;
  }
  return found;
}

std::string_view refuses_norm_gradients(std::span<const OpView> ops, const Device&) {
  const NormGradientOps found = norm_gradient_ops(ops);
  const ir::TensorType& x = ops[found.input].inputs[0];
  if (!has_norm_gradients(x.kind(), columns_of(x))) return "rows do not lie in registers";
  if (!found.rope) return {};
  const ir::TensorType& turned = ops[*found.rope].inputs[0];
  if (columns_of(turned) != columns_of(x)) return "rows of the norm are no heads";
  if (!can_turn_rows(x.kind(), columns_of(x))) return "halves of heads are no whole packs";
  return rows_of(x) <= std::numeric_limits<int>::max() ? "" : "there are too many rows";
}

/// A thread reads its part of each row before it writes there; weights and tables are no rows.
bool is_row_of_gradients(const ir::OpNode& reader, std::size_t input, const ir::OpNode&) {
  if (std::holds_alternative<ir::RmsNormGradInput>(reader.op)) return input != 1;
  return !std::holds_alternative<ir::Rope>(reader.op) || input == 0;
}

NormGradients norm_gradients_args(const OpView& op) {
  return {.kind = op.inputs[0].kind(),
          .rows = rows_of(op.inputs[0]),
          .cols = columns_of(op.inputs[0]),
          .eps = static_cast<float>(std::get<ir::RmsNormGradInput>(op.node.op).eps)};
}

/// Places of operands in LaunchArgs.
struct NormGradientPlaces {
  std::size_t x, w, dy, rest = 0, positions = 0, table = 0, dx, acc = 0;
};

NormGradientPlaces norm_gradient_places(std::span<const OpView> ops, const NormGradientOps& found) {
  const std::size_t norm = first_input(ops, found.input);
  const std::size_t last = found.sum.value_or(found.input);
  NormGradientPlaces places{
      .x = norm, .w = norm + 1, .dy = norm + 2, .dx = first_output(ops, last)};
  if (found.rope) {
    places.dy = first_input(ops, *found.rope);
    places.positions = places.dy + 1;
    places.table = places.dy + 2;
  }
  if (found.sum) {
    const ir::ValueId dx = ops[found.input].node.outputs[0];
    places.rest = first_input(ops, *found.sum) + (reads(ops[*found.sum].node, 0, dx) ? 1 : 0);
  }
  if (found.weight) places.acc = first_output(ops, *found.weight);
  return places;
}

HeadTurn head_turn_of(const OpView& rope) {
  return {.max_position = rope.input_dim(2, 0),
          .heads = static_cast<int>(rope.input_dim(0, 1)),
          .inverse = std::get<ir::Rope>(rope.node.op).inverse};
}

std::unique_ptr<Kernel> plan_norm_gradients(std::span<const OpView> ops, const Device&) {
  const NormGradientOps found = norm_gradient_ops(ops);
  const NormGradientPlaces places = norm_gradient_places(ops, found);
  NormGradients args = norm_gradients_args(ops[found.input]);
  if (found.rope) args.turn = head_turn_of(ops[*found.rope]);
  const std::int64_t workspace =
      found.weight ? norm_gradients_workspace(args.kind, args.rows, args.cols) : 0;
  return make_kernel(workspace, [=](const LaunchArgs& launch) {
    NormGradients bound = args;
    bound.x = launch.inputs[places.x];
    bound.w = launch.inputs[places.w];
    bound.dy = launch.inputs[places.dy];
    bound.dx = launch.outputs[places.dx];
    if (found.sum) bound.rest = launch.inputs[places.rest];
    if (found.weight) bound.acc = launch.out<float>(places.acc);
    if (found.rope) {
      bound.turn.positions = launch.in<std::int32_t>(places.positions);
      bound.turn.table = launch.in<float>(places.table);
    }
    norm_gradients(bound, launch.workspace, launch.stream);
  });
}

}  // namespace

Fusion norm_gradients_fusion() {
  return {.name = "norm_gradients",
          .match = match_norm_gradients,
          .refuses = refuses_norm_gradients,
          .in_place = is_row_of_gradients,
          .numerics = nullptr,
          .plan = plan_norm_gradients};
}

}  // namespace parhelion::exec::cuda
