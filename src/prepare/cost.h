#pragma once

#include "contract/contract.h"

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::prepare {

/// What one instance asks for.
struct InstanceCost {
  std::string entry;
  ir::Capacities capacities = {};
  std::int64_t ops = 0;
  std::int64_t scratch_bytes = 0;  ///< of values that live within a run; all instances share them
  std::int64_t port_bytes = 0;     ///< of inputs and outputs, which each instance has for itself
};

/// What a contract asks of the device that runs it.
struct DeviceNeed {
  std::int64_t weight_bytes = 0;
  std::int64_t scratch_bytes = 0;  ///< the most of any instance
  std::int64_t port_bytes = 0;     ///< of all instances
  std::int64_t state_bytes = 0;    ///< one sequence of the whole context
  std::int64_t total() const { return weight_bytes + scratch_bytes + port_bytes + state_bytes; }
};

/// Of a contract with memory plans, in the order of contract::entries.
std::vector<InstanceCost> instance_costs(const contract::Contract& contract);
DeviceNeed device_need(const contract::Contract& contract);

/// A line for each instance, and one for what they ask for together.
std::string print_catalogue(const contract::Contract& contract);

/// Errors: invalid, with what each instance costs, if there are more than `most`.
void check_instance_count(const contract::Contract& contract, std::int64_t most);

}  // namespace parhelion::prepare
