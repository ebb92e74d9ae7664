#pragma once

#include "contract/contract.h"
#include "serve/engine.h"

namespace parhelion::serve {

/// Runs the probes that fit the engine's contract, a short greedy prompt, one longer than its
/// smallest prompt instance, a seeded draw, and gives what they said. The engine is left as if
/// nothing had run. `dtype`, `numerics` and `host` stay empty.
///
/// Errors: as complete.
contract::Golden record_golden(Engine& engine, double tolerance);

/// Runs the probes of the engine's contract that fit its limits, and compares: log-probabilities
/// within the tolerance, ids where they are firm. A probe ends where another id is drawn that is
/// not. The engine is left as if nothing had run. Gives how many probes were run.
///
/// Errors: corrupt (GOLDEN_MISMATCH), naming the probe and the place of its first difference.
std::int64_t check_golden(Engine& engine);

}  // namespace parhelion::serve
