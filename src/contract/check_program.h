#pragma once

#include "base/problems.h"
#include "contract/contract.h"

namespace parhelion::contract {

/// Checks what `extend` must offer to a server: inputs and outputs of fixed names and types, states
/// that consist of pages, parameters of fixed size, cache groups that have each state once.
void check_program(const Contract& contract, Problems& problems);

}  // namespace parhelion::contract
