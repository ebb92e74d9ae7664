#include "base/error.h"
#include "state/mapper.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace parhelion::state {
namespace {

using Groups = std::vector<Group>;
using PortList = std::vector<Port> Group::*;

/// Sorted names of one side of all groups.
std::set<std::string_view> port_names(const Groups& groups, PortList side) {
  std::set<std::string_view> names;
  for (const Group& group : groups)
    for (const Port& port : group.*side) names.insert(port.name);
  return names;
}

/// Refuses a name that occurs twice on one side.
void check_disjoint(const Groups& groups, PortList side, std::string_view verb) {
  std::unordered_set<std::string_view> seen;
  std::set<std::string> repeated;
  for (const Group& group : groups) {
    for (const Port& port : group.*side) {
      if (!seen.insert(port.name).second) repeated.insert(port.name);
    }
  }
  ensure(repeated.empty(), ErrorKind::invalid, "mapper: parts side by side both {} {}", verb,
         names_text({repeated.begin(), repeated.end()}));
}

Groups checked_parallel(Groups groups) {
  check_disjoint(groups, &Group::inputs, "read");
  check_disjoint(groups, &Group::outputs, "write");
  return groups;
}

Groups groups_of(const Mapper& mapper);

Groups groups_of_all(const std::vector<Mapper>& parts) {
  Groups all;
  for (const Mapper& part : parts) std::ranges::move(groups_of(part), std::back_inserter(all));
  return checked_parallel(std::move(all));
}

bool passes_through(const Leaf& leaf) {
  return std::holds_alternative<Identity>(leaf) || std::holds_alternative<Rename>(leaf);
}

Groups groups_of_node(const Leaf& leaf) {
  Group group;
  Step step{leaf, {}, {}};
  for (std::string& name : input_names(leaf)) {
    step.inputs.push_back(group.value_count);
    group.inputs.push_back({std::move(name), group.value_count++});
  }
  for (std::string& name : output_names(leaf)) {
    const std::size_t value = passes_through(leaf) ? 0 : group.value_count++;
    step.outputs.push_back(value);
    group.outputs.push_back({std::move(name), value});
  }
  ensure(!group.inputs.empty() && !group.outputs.empty(), ErrorKind::invalid,
         "mapper: a leaf has no {}", group.inputs.empty() ? "sources" : "targets");
  if (!passes_through(leaf)) group.steps.push_back(std::move(step));
  return checked_parallel({std::move(group)});
}

Groups groups_of_node(const Parallel& parallel) { return groups_of_all(parallel.parts); }

Groups groups_of_node(const PrefixScope& scope) {
  Groups groups = groups_of_all(scope.parts);
  for (Group& group : groups) {
    for (Port& port : group.inputs) port.name = scope.source + port.name;
    for (Port& port : group.outputs) port.name = scope.target + port.name;
  }
  return groups;
}

/// What a group sorts by: its input names, sorted.
std::vector<std::string> sorted_inputs(const Group& group) {
  std::vector<std::string> names;
  for (const Port& port : group.inputs) names.push_back(port.name);
  std::ranges::sort(names);
  return names;
}

Groups groups_of_node(const Shard& shard) {
  ensure(shard.index >= 0 && shard.index < shard.count, ErrorKind::invalid,
         "mapper: shard {} of {}, expected an index in [0, count)", shard.index, shard.count);
  Groups all = groups_of_all(shard.parts);
  std::ranges::sort(all, {}, sorted_inputs);
  Groups kept;
  for (std::int64_t i = shard.index; i < std::ssize(all); i += shard.count)
    kept.push_back(std::move(all[static_cast<std::size_t>(i)]));
  return kept;
}

/// The names of `wanted` that `stage` does not have on `side` pass through it.
void fill_gaps(Groups& stage, PortList side, PortList other_side, const Groups& wanted,
               PortList wanted_side) {
  const std::set<std::string_view> there = port_names(stage, side);
  const std::set<std::string_view> taken = port_names(stage, other_side);
  std::vector<std::string> passing, clashing;
  for (const std::string_view name : port_names(wanted, wanted_side)) {
    if (there.contains(name)) continue;
    (taken.contains(name) ? clashing : passing).emplace_back(name);
  }
  ensure(clashing.empty(), ErrorKind::invalid, "mapper: a stage both {} and would pass on {}",
         side == &Group::outputs ? "reads" : "writes", names_text(clashing));
  for (const std::string& name : passing) {
    Groups identity = groups_of_node(Leaf(Identity{name}));
    stage.push_back(std::move(identity.front()));
  }
}

/// Sets of group numbers that grow together.
class GroupSets {
 public:
  explicit GroupSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t group) {
    while (parent_[group] != group) group = parent_[group] = parent_[parent_[group]];
    return group;
  }
  /// The set keeps the smaller number as its own.
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Adds the steps of `from` to `to`, its values renumbered by `value_of`.
void append_steps(Group& to, Group& from, const std::vector<std::size_t>& value_of) {
  const auto renumber = [&](std::vector<std::size_t>& values) {
    for (std::size_t& value : values) value = value_of[value];
  };
  for (Step& step : from.steps) {
    renumber(step.inputs);
    renumber(step.outputs);
    to.steps.push_back(std::move(step));
  }
}

/// A value of a joined group, by the name it has between two stages.
using BetweenValues = std::unordered_map<std::string, std::size_t>;

/// Adds a group of the first stage.
void append_first(Group& joined, Group group, BetweenValues& between) {
  std::vector<std::size_t> value_of(group.value_count);
  std::iota(value_of.begin(), value_of.end(), joined.value_count);
  joined.value_count += group.value_count;
  append_steps(joined, group, value_of);
  for (Port& port : group.inputs) joined.inputs.push_back({port.name, value_of[port.value]});
  for (Port& port : group.outputs) between.emplace(std::move(port.name), value_of[port.value]);
}

/// Adds a group of the second stage: its inputs are values that are there.
void append_second(Group& joined, Group group, const BetweenValues& between) {
  std::vector<std::optional<std::size_t>> known(group.value_count);
  for (const Port& port : group.inputs) known[port.value] = between.at(port.name);
  std::vector<std::size_t> value_of;
  for (const auto& value : known) value_of.push_back(value ? *value : joined.value_count++);
  append_steps(joined, group, value_of);
  for (Port& port : group.outputs)
    joined.outputs.push_back({std::move(port.name), value_of[port.value]});
}

/// Joins two stages, the second of which reads just what the first writes: groups that share a name
/// become one.
Groups join_stages(Groups first, Groups second) {
  std::unordered_map<std::string_view, std::size_t> writer;
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const Port& port : first[i].outputs) writer.emplace(port.name, i);
  GroupSets sets(first.size());
  std::vector<std::size_t> reads_from;
  for (const Group& group : second) {
    reads_from.push_back(writer.at(group.inputs.front().name));
    for (const Port& port : group.inputs) sets.join(reads_from.back(), writer.at(port.name));
  }
  Groups joined(first.size());
  std::vector<BetweenValues> between(first.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    append_first(joined[sets.find(i)], std::move(first[i]), between[sets.find(i)]);
  for (std::size_t i = 0; i < second.size(); ++i) {
    const std::size_t set = sets.find(reads_from[i]);
    append_second(joined[set], std::move(second[i]), between[set]);
  }
  std::erase_if(joined, [](const Group& group) { return group.inputs.empty(); });
  return joined;
}

Groups groups_of_node(const Sequential& sequential) {
  ensure(!sequential.stages.empty(), ErrorKind::invalid, "mapper: a sequence has no stages");
  std::vector<Groups> stages;
  for (const Mapper& stage : sequential.stages) {
    stages.push_back(groups_of(stage));
    if (stages.back().empty()) stages.pop_back();
  }
  if (stages.empty()) return {};
  for (std::size_t i = stages.size() - 1; i > 0; --i)
    fill_gaps(stages[i - 1], &Group::outputs, &Group::inputs, stages[i], &Group::inputs);
  for (std::size_t i = 1; i < stages.size(); ++i)
    fill_gaps(stages[i], &Group::inputs, &Group::outputs, stages[i - 1], &Group::outputs);
  Groups joined = std::move(stages.front());
  for (std::size_t i = 1; i < stages.size(); ++i)
    joined = join_stages(std::move(joined), std::move(stages[i]));
  return joined;
}

Groups groups_of(const Mapper& mapper) {
  return std::visit([](const auto& node) { return groups_of_node(node); }, mapper.node);
}

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

}  // namespace

std::vector<Group> groups(const Mapper& mapper) {
  Groups all = groups_of(mapper);
  for (Group& group : all) {
    std::ranges::sort(group.inputs, {}, &Port::name);
    std::ranges::sort(group.outputs, {}, &Port::name);
  }
  return all;
}

const Group& group_reading(const std::vector<Group>& groups, std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto at = std::ranges::find_if(
      groups, [&](const Group& group) { return names_of(group.inputs) == names; });
  ensure(at != groups.end(), ErrorKind::invalid, "mapper: no group reads just {}",
         names_text(names));
  return *at;
}

std::vector<TensorView> apply_group(const Group& group, std::vector<TensorView> tensors) {
  std::ranges::sort(tensors, {}, &TensorView::name);
  std::vector<std::string> given;
  for (const TensorView& tensor : tensors) given.push_back(tensor.name);
  ensure(given == names_of(group.inputs), ErrorKind::invalid, "mapper: a group got {}, expected {}",
         names_text(given), names_text(names_of(group.inputs)));
  std::vector<TensorView> values(group.value_count);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    values[group.inputs[i].value] = std::move(tensors[i]);
  for (const Step& step : group.steps) {
    std::vector<TensorView> taken;
    for (const std::size_t value : step.inputs) taken.push_back(std::move(values[value]));
    std::vector<TensorView> made = transform(step.leaf, std::move(taken));
    for (std::size_t i = 0; i < made.size(); ++i) values[step.outputs[i]] = std::move(made[i]);
  }
  std::vector<TensorView> outputs;
  for (const Port& port : group.outputs) {
    outputs.push_back(std::move(values[port.value]));
    outputs.back().name = port.name;
  }
  return outputs;
}

}  // namespace parhelion::state
