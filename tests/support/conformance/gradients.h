#pragma once

#include "support/conformance/loss_programs.h"
#include "support/conformance/run.h"

namespace parhelion::test {

/// Expects every output and state buffer of the float64 reference.
void expect_program_reference(const MakeExecutor& make, const FilledProgram& made);

/// Expects the loss of the float64 reference, and for some elements of every trainable parameter
/// the central difference of that reference.
void expect_gradients(const MakeExecutor& make, const LossProgram& made);

/// Expects loss and gradients with the same bits where layers are computed again, and where nothing
/// is fused.
void expect_same_bits_of_passes(const MakeExecutor& make, const LossProgram& made);

}  // namespace parhelion::test
