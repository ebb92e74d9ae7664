#pragma once

#include "contract/contract.h"
#include "model/model.h"
#include "prepare/make_contract.h"

#include <cstdint>

namespace parhelion::prepare {

/// What becomes of a model's adapter.
enum class AdapterUse : std::uint8_t {
  merge,  ///< it is added to the weights beside which it stands
  keep,   ///< its parameters are parameters of the programs
};

/// What a core is made with.
struct CoreSettings {
  ServingShape shape = {};
  AdapterUse adapter = AdapterUse::merge;
  contract::Target target = {};
  contract::Provenance provenance = {};
  contract::Frontend frontend = {};
};

/// The contract of a core before anything is planned: programs that are fused, catalogue, policies,
/// frontend. Its programs are what an executor plans, op for op, once capacities are numbers.
///
/// Errors: as make_contract and ir::verify.
contract::Contract compose(const model::Model& model, const CoreSettings& settings);

}  // namespace parhelion::prepare
