#include "exec/cuda/fusions/resident_ops.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <variant>

namespace parhelion::exec::cuda {
namespace {

constexpr std::size_t kMostOpsAheadOfAttention = 12;

/// Reads one layer, from attention back to its norm and on to the next one.
class ResidentLayerReader {
 public:
  explicit ResidentLayerReader(std::span<const ir::OpNode* const> nodes) : nodes_(nodes) {
    for (std::size_t place = 0; place < nodes.size(); ++place)
      for (const ir::ValueId output : nodes[place]->outputs) makers_[output.index] = place;
  }

  /// The layer that begins with the op at `norm`, if one does.
  std::optional<ResidentLayerOps> read(std::size_t norm) {
    ResidentLayerOps ops{.norm = norm};
    const std::optional<std::size_t> attention = attention_after(norm);
    if (!attention) return std::nullopt;
    ops.attention = *attention;
    taken_.clear();
    if (!read_heads(ops) || taken_.size() != ops.attention - norm - 1) return std::nullopt;
    return read_tail(ops) ? std::optional(ops) : std::nullopt;
  }

 private:
  template <class Op>
  bool is(std::size_t place) const {
    return place < nodes_.size() && !nodes_[place]->gate &&
           std::holds_alternative<Op>(nodes_[place]->op);
  }
  ir::ValueId input(std::size_t place, std::size_t index) const {
    return nodes_[place]->inputs[index].value;
  }

  std::optional<std::size_t> attention_after(std::size_t norm) const {
    for (std::size_t at = norm + 1; at <= norm + kMostOpsAheadOfAttention; ++at)
      if (is<ir::PagedAttention>(at)) return at;
    return std::nullopt;
  }

  /// The op of family `Op` that makes a value.
  template <class Op>
  std::optional<std::size_t> take(ir::ValueId value) {
    const auto found = makers_.find(value.index);
    if (found == makers_.end() || !is<Op>(found->second)) return std::nullopt;
    taken_.insert(found->second);
    return found->second;
  }

  /// The product of the layer's norm that makes a value.
  bool read_projection(ir::ValueId value, std::size_t norm, std::size_t& product) {
    const auto found = take<ir::MatMul>(value);
    if (!found || input(*found, 0) != nodes_[norm]->outputs.back()) return false;
    product = *found;
    return true;
  }

  /// A rope, the norm ahead of it where there is one, and the product.
  bool read_turned(ir::ValueId value, std::size_t norm, std::size_t& rope,
                   std::optional<std::size_t>& head_norm, std::size_t& product) {
    const auto found = take<ir::Rope>(value);
    if (!found) return false;
    rope = *found;
    ir::ValueId x = input(rope, 0);
    head_norm = take<ir::RmsNorm>(x);
    if (head_norm) x = input(*head_norm, 0);
    return read_projection(x, norm, product);
  }

  bool read_heads(ResidentLayerOps& ops) {
    const auto key_write = take<ir::PageWrite>(input(ops.attention, 1));
    const auto value_write = take<ir::PageWrite>(input(ops.attention, 2));
    if (!key_write || !value_write) return false;
    ops.key_write = *key_write;
    ops.value_write = *value_write;
    return read_turned(input(ops.attention, 0), ops.norm, ops.q_rope, ops.q_norm, ops.q) &&
           read_turned(input(ops.key_write, 0), ops.norm, ops.k_rope, ops.k_norm, ops.k) &&
           read_projection(input(ops.value_write, 0), ops.norm, ops.v) &&
           ops.q_norm.has_value() == ops.k_norm.has_value();
  }

  /// Whether the op at `place` adds these two and norms the sum.
  bool adds(std::size_t place, ir::ValueId one, ir::ValueId other) const {
    if (!is<ir::AddRmsNorm>(place)) return false;
    const ir::ValueId x = input(place, 0), r = input(place, 1);
    return (x == one && r == other) || (x == other && r == one);
  }

  /// What comes after attention, in its one order, and the next norm.
  bool read_tail(ResidentLayerOps& ops) const {
    ops.o = ops.attention + 1;
    ops.mlp_norm = ops.attention + 2;
    ops.gate_up = ops.attention + 3;
    ops.down = ops.attention + 4;
    const auto made = [&](std::size_t place) { return nodes_[place]->outputs.front(); };
    const ir::ValueId residual = is<ir::AddRmsNorm>(ops.norm) ? made(ops.norm) : input(ops.norm, 0);
    return is<ir::MatMul>(ops.o) && input(ops.o, 0) == made(ops.attention) &&
           adds(ops.mlp_norm, residual, made(ops.o)) && is<ir::GateUp>(ops.gate_up) &&
           input(ops.gate_up, 0) == nodes_[ops.mlp_norm]->outputs.back() &&
           is<ir::MatMul>(ops.down) && input(ops.down, 0) == made(ops.gate_up) &&
           adds(ops.down + 1, made(ops.mlp_norm), made(ops.down));
  }

  std::span<const ir::OpNode* const> nodes_;
  std::unordered_map<std::uint32_t, std::size_t> makers_;
  std::set<std::size_t> taken_;
};

}  // namespace

ResidentOps read_resident_ops(std::span<const ir::OpNode* const> nodes) {
  ResidentOps result;
  ResidentLayerReader reader(nodes);
  for (std::size_t norm = 0; const auto layer = reader.read(norm); norm = result.last_norm) {
    result.layers.push_back(*layer);
    result.last_norm = layer->down + 1;
  }
  return result;
}

}  // namespace parhelion::exec::cuda
