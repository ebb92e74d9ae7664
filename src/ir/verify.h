#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Checks that a program is well formed; every pass leaves it so.
///
/// (P1) ids: every value, buffer, op and label that is named exists
/// (P2) buffers: names are unique and not empty; a constant has an init, and an init has the
///      buffer's type
/// (P3) producers: a value is given once, by the op that it names as its producer; a value without
///      producer is version 0 of a buffer, one for each buffer at most
/// (P4) order: an op reads only values which exist before it
/// (P5) types: outputs have the types that the op infers, a value with a buffer has its type, and
///      an operand's own shape has as many elements as its value
/// (P6) ties: a tied output is the next version of its input's buffer, or an activation where the
///      input is one; no other output has a version beyond an output buffer's first
/// (P7) updates: the tied input is no other operand of its op, and no later op names it
/// (P8) writes: inputs and constants are never written, parameters in phase update only
/// (P9) outputs: an output buffer is written exactly once
/// (P10) phases: an op reads no value of a later phase
/// (P11) phases: an op updates no value that an earlier op of a later phase reads
/// (P12) phases: state that forward updates is named by no gradient phase
/// (P13) gates: a gate is a bool8[] that exists before its op, and every output of a gated op is
///       tied
///
/// By (P10) and (P11) a stable sort of the ops by phase computes the same.
///
/// Errors: invalid with the check's label, naming the op's number, family and label.
void verify(const Program& program);

}  // namespace parhelion::ir
