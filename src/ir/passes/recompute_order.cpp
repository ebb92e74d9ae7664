#include "ir/passes/recompute_order.h"

#include "ir/passes/recompute.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>

namespace parhelion::ir {
namespace {

/// Between what a processor and what a GPU computes while it moves a byte: enough to tell ops that
/// multiply matrices from those that stream.
constexpr double kFlopsPerByte = 32;

/// Ops computed again together.
struct RecomputeGroup {
  std::vector<OpId> ops;
  std::int32_t layer = 0;
  double price = std::numeric_limits<double>::infinity();  // work for each byte that it frees
};

double work_of(const Program& instance, const OpNode& node) {
  const Cost work = cost(node.op, input_types(instance, node), output_types(instance, node));
  return work.flops + kFlopsPerByte * work.bytes;
}

/// What is kept and what is computed again, as group after group is taken.
class RecomputeState {
 public:
  explicit RecomputeState(const Program& instance)
      : instance_(instance),
        possible_(can_recompute(instance)),
        kept_(read_by_gradients(instance)),
        is_pinned_(kept_.size()),
        taken_(instance.ops.size() + 1) {
    for (const OpNode& node : instance_.ops) {
      work_.push_back(node.phase == Phase::forward ? work_of(instance_, node) : 0);
      if (node.phase == Phase::forward) continue;
      for (const Operand& input : node.inputs) {
        const OpId producer = instance_.at(input.value).producer;
        if (producer && instance_.at(producer).layer != node.layer)
          is_pinned_[input.value.index] = true;
      }
    }
  }

  bool may_begin(OpId id) const {
    return may_take(id) && std::ranges::any_of(instance_.at(id).outputs, [&](ValueId output) {
             return kept_[output.index] && !is_pinned_[output.index];
           });
  }

  /// Ops of one layer with those that give their operands, back to what is kept.
  RecomputeGroup group_of(std::span<const OpId> ids) const {
    RecomputeGroup group{.ops = {}, .layer = instance_.at(ids.front()).layer};
    std::vector<ValueId> newly_kept;
    for (const OpId id : ids) add_to(group.ops, newly_kept, id);
    double work = 0, freed = 0;
    for (const OpId id : group.ops) {
      work += work_[id.index - 1];
      for (const ValueId output : instance_.at(id).outputs)
        if (kept_[output.index] && !is_pinned_[output.index]) freed += bytes_of(output);
    }
    for (const ValueId value : newly_kept) freed -= bytes_of(value);
    if (freed > 0) group.price = work / freed;
    std::ranges::sort(group.ops);
    return group;
  }

  void take(const RecomputeGroup& group) {
    for (const OpId id : group.ops) {
      taken_[id.index] = true;
      for (const ValueId output : instance_.at(id).outputs)
        if (!is_pinned_[output.index]) kept_[output.index] = false;
    }
    for (const OpId id : group.ops) {
      for (const Operand& input : instance_.at(id).inputs)
        if (!is_available(input.value, group.layer)) kept_[input.value.index] = true;
    }
  }

 private:
  bool may_take(OpId id) const { return possible_[id.index - 1] && !taken_[id.index]; }

  /// Whether a clone in `layer` may read it without another byte: it is kept, or computed again.
  bool is_available(ValueId value, std::int32_t layer) const {
    const Value& what = instance_.at(value);
    return what.buffer || kept_[value.index] ||
           (taken_[what.producer.index] && instance_.at(what.producer).layer == layer);
  }

  void add_to(std::vector<OpId>& ops, std::vector<ValueId>& newly_kept, OpId id) const {
    if (std::ranges::find(ops, id) != ops.end()) return;
    ops.push_back(id);
    const OpNode& node = instance_.at(id);
    for (const Operand& input : node.inputs) {
      if (is_available(input.value, node.layer)) continue;
      const OpId producer = instance_.at(input.value).producer;
      if (may_take(producer) && instance_.at(producer).layer == node.layer) {
        add_to(ops, newly_kept, producer);
      } else if (std::ranges::find(newly_kept, input.value) == newly_kept.end()) {
        newly_kept.push_back(input.value);
      }
    }
  }

  double bytes_of(ValueId value) const {
    return static_cast<double>(byte_count(instance_.at(value).type));
  }

  const Program& instance_;
  std::vector<double> work_;     // by op minus 1
  std::vector<bool> possible_;   // by op minus 1
  std::vector<bool> kept_;       // by value
  std::vector<bool> is_pinned_;  // by value: another layer's gradients read it
  std::vector<bool> taken_;      // by op
};

/// The cheapest group of a layer's ops, if one frees anything; where none does alone, all together
/// may.
std::optional<RecomputeGroup> cheapest_group(const RecomputeState& state,
                                             const std::vector<OpId>& layer) {
  std::vector<OpId> rest;
  std::ranges::copy_if(layer, std::back_inserter(rest),
                       [&](OpId id) { return state.may_begin(id); });
  RecomputeGroup best;
  for (const OpId& id : rest) {
    RecomputeGroup group = state.group_of({&id, 1});
    if (group.price < best.price) best = std::move(group);
  }
  if (best.ops.empty() && !rest.empty()) best = state.group_of(rest);
  if (best.price == RecomputeGroup{}.price) return std::nullopt;
  return best;
}

}  // namespace

std::vector<std::vector<OpId>> recompute_order(const Program& instance) {
  std::map<std::int32_t, std::vector<OpId>> layers;
  for (std::uint32_t i = 1; i <= instance.ops.size(); ++i)
    layers[instance.at(OpId{i}).layer].push_back({i});
  RecomputeState state(instance);
  std::vector<RecomputeGroup> groups;
  for (const auto& [layer, ops] : layers) {
    double highest = 0;  // a group is never before one that it builds on
    while (std::optional<RecomputeGroup> group = cheapest_group(state, ops)) {
      state.take(*group);
      highest = group->price = std::max(highest, group->price);
      groups.push_back(std::move(*group));
    }
  }
  std::ranges::stable_sort(groups, [](const RecomputeGroup& a, const RecomputeGroup& b) {
    return std::tie(a.price, a.layer) < std::tie(b.price, b.layer);
  });
  std::vector<std::vector<OpId>> result;
  for (RecomputeGroup& group : groups) result.push_back(std::move(group.ops));
  return result;
}

}  // namespace parhelion::ir
