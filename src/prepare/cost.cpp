#include "prepare/cost.h"

#include "base/error.h"
#include "ir/passes/instantiate.h"

#include <algorithm>

namespace parhelion::prepare {
namespace {

std::int64_t bytes_of_roles(const ir::Program& instance, ir::Role one, ir::Role other) {
  std::int64_t bytes = 0;
  for (const ir::Buffer& buffer : instance.buffers)
    if (buffer.role == one || buffer.role == other) bytes += ir::byte_count(buffer.type);
  return bytes;
}

InstanceCost cost_of(const contract::EntryView& entry, std::size_t index) {
  const ir::Program instance = ir::instantiate(*entry.program, entry.instances[index]);
  const auto& peaks = (*entry.plans)[index].memory.peak_bytes;
  return {.entry = std::string(entry.name),
          .capacities = entry.instances[index],
          .ops = std::ssize(instance.ops),
          .scratch_bytes = peaks[static_cast<std::size_t>(ir::ArenaKind::transient)],
          .port_bytes = bytes_of_roles(instance, ir::Role::input, ir::Role::output)};
}

std::string cost_line(const InstanceCost& cost) {
  return fmt::format("{:<12}{:>8}{:>8}{:>8}{:>8}{:>16}{:>14}\n", cost.entry,
                     cost.capacities[ir::Symbol::tokens], cost.capacities[ir::Symbol::rows],
                     cost.capacities[ir::Symbol::logit_rows], cost.ops, cost.scratch_bytes,
                     cost.port_bytes);
}

std::string cost_table(const std::vector<InstanceCost>& costs) {
  std::string text = fmt::format("{:<12}{:>8}{:>8}{:>8}{:>8}{:>16}{:>14}\n", "instance", "tokens",
                                 "rows", "logits", "ops", "scratch bytes", "port bytes");
  for (const InstanceCost& cost : costs) text += cost_line(cost);
  return text;
}

}  // namespace

std::vector<InstanceCost> instance_costs(const contract::Contract& contract) {
  std::vector<InstanceCost> costs;
  for (const contract::EntryView& entry : contract::entries(contract))
    for (std::size_t i = 0; i < entry.instances.size(); ++i) costs.push_back(cost_of(entry, i));
  return costs;
}

DeviceNeed device_need(const contract::Contract& contract) {
  DeviceNeed need;
  for (const ir::Buffer& buffer : contract.extend.buffers)
    if (buffer.role == ir::Role::parameter) need.weight_bytes += ir::byte_count(buffer.type);
  for (const InstanceCost& cost : instance_costs(contract)) {
    need.scratch_bytes = std::max(need.scratch_bytes, cost.scratch_bytes);
    need.port_bytes += cost.port_bytes;
  }
  const contract::CachePolicy& cache = contract.cache;
  const std::int64_t pages = (cache.context_tokens - 1) / cache.page_tokens + 2;  // a null page too
  need.state_bytes = pages * contract::page_bytes(contract);
  return need;
}

std::string print_catalogue(const contract::Contract& contract) {
  const DeviceNeed need = device_need(contract);
  return cost_table(instance_costs(contract)) +
         fmt::format(
             "{} bytes of weights, {} of scratch that instances share, {} of ports, {} of "
             "one context of {} tokens: {} in all\n",
             need.weight_bytes, need.scratch_bytes, need.port_bytes, need.state_bytes,
             contract.cache.context_tokens, need.total());
}

void check_instance_count(const contract::Contract& contract, std::int64_t most) {
  const std::vector<InstanceCost> costs = instance_costs(contract);
  if (std::ssize(costs) <= most) return;
  std::string table = cost_table(costs);
  table.pop_back();  // a message ends without an end of line
  fail(ErrorKind::invalid,
       "the catalogue has {} instances, expected at most {}: ask for fewer rows or step tokens, or "
       "allow more; each takes ports, a plan at start and a share of the contract\n{}",
       costs.size(), most, table);
}

}  // namespace parhelion::prepare
