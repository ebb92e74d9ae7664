#pragma once

#include "base/problems.h"
#include "contract/contract.h"

namespace parhelion::contract {

/// Notes what is wrong with the golden probes: what no request could ask for, values that are not
/// finite, or more than a start has time for.
void check_golden(const Contract& contract, Problems& problems);

}  // namespace parhelion::contract
