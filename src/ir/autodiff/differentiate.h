#pragma once

#include "ir/program.h"

#include <string>
#include <string_view>

namespace parhelion::ir {

/// The f32 state buffer that gradients of a parameter are summed in.
std::string gradient_name(std::string_view parameter);

/// Extends `program` by the ops that add d loss / d parameter to every trainable parameter's
/// gradient buffer.
///
/// Each use of a parameter adds to one chain of versions, uses in reverse op order. New ops inherit
/// layer and label of the op that they differentiate; their phase is weight_grad where they only
/// reach a gradient buffer within its rule, else input_grad. Gradient buffers are not cleared:
/// whoever runs the program decides when a sum begins.
///
/// Errors: invalid if `loss` is no f32 scalar, does not depend on a parameter, depends on one
///         through an op without a gradient, or reads one where the op's rule keeps no f32 sum (an
///         operand of Binary or Swiglu, x of a norm).
void differentiate(Program& program, ValueId loss);

}  // namespace parhelion::ir
