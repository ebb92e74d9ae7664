#pragma once

#include "ir/program.h"
#include "train/config/optimizer_settings.h"

#include <string>
#include <string_view>

namespace parhelion::train {

/// The buffers that an optimizer keeps beside a parameter.
std::string first_moment_name(std::string_view parameter);
std::string second_moment_name(std::string_view parameter);
std::string largest_second_moment_name(std::string_view parameter);
std::string momentum_name(std::string_view parameter);
std::string master_name(std::string_view parameter);

/// Extends a differentiated program by the end of a step.
///
/// In phase forward, `total_loss` and the sum of the input `loss_weight` are added to the states
/// `step.loss_sum` and `step.weight`, so that a step may have several microbatches. In phase
/// update, the norm of all gradients is computed, every trainable parameter moves by its gradient's
/// weighted mean, clipped, and all sums are cleared. Nothing moves where no token counted or where
/// loss or norm is not finite.
///
/// Inputs:  `lr` f32[], `rounding_seed` u64[]; for Adam `adam_correction` f32[2] as
///          ir::AdamUpdate says, for SGD `momentum_gain` f32[]
/// Outputs: `step_loss`, `step_norm`, `step_weight` f32[], `step_applied` bool8[]
/// States:  moments or momentum of each trainable parameter, of `settings.moments`; with
///          `settings.master_weights` an f32 master of each that is bf16, to be filled before the
///          first step (initialise_masters)
///
/// Errors: invalid if no parameter is trainable; as resolve_groups.
void append_update(ir::Program& program, ir::ValueId total_loss, const OptimizerSettings& settings,
                   ir::Kind kind);

}  // namespace parhelion::train
