#pragma once

#include "ir/program.h"

#include <span>
#include <vector>

namespace parhelion::ir {

/// Which forward results are kept for the backward pass.
enum class Recompute : std::uint8_t {
  none,       ///< all that are read
  selective,  ///< all but those that ops without products of matrices give from kept ones
  layer,      ///< what enters a layer
};

/// For each op (by index minus 1): may a clone of it run in the backward pass? It must be a forward
/// op without effects on state or other ranks, give activations alone, and read nothing whose
/// buffer changes before the step ends.
std::vector<bool> can_recompute(const Program& program);

/// For each value (by index): is it an activation that a gradient op reads?
std::vector<bool> read_by_gradients(const Program& program);

/// The forward ops whose results a policy keeps not, ascending.
std::vector<OpId> recomputed_ops(const Program& program, Recompute policy);

/// Rewrites a differentiated program so that gradient ops read clones of `ops` of their own layer.
/// A clone stands right before its first reader, with what it needs of `ops` before it; it keeps
/// attributes (a random op its tag), layer and label, and runs in the earliest phase of its
/// readers. An op that nothing reads any more goes. The results have the same bits whatever `ops`
/// are.
///
/// Errors: bug if `can_recompute` is false for one of `ops`.
void recompute(Program& program, std::span<const OpId> ops);
void recompute(Program& program, Recompute policy);

}  // namespace parhelion::ir
