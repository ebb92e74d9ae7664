#pragma once

#include "serve/step.h"

namespace parhelion::serve {

/// Writes every input of a plan of this kind, but edits; lanes without a row, token or query get
/// their declared idle values.
void write_inputs(exec::Plan& plan, std::span<const StepRow> rows, std::int64_t page_tokens,
                  StepKind kind);

/// Writes the further inputs of a plan that edits logits.
void write_edits(exec::Plan& plan, std::span<const StepRow> rows);

}  // namespace parhelion::serve
