#pragma once

#include "model/open.h"

namespace parhelion::model {

/// The parameters of a model under their own names, as its checkpoint holds them; a weight that has
/// an adapter as f32 with W + (alpha / rank) B A in its place. Borrows `opened`.
///
/// Errors: of reading, as load_parameters.
state::TensorSource merged_parameters(const OpenedModel& opened);

/// The parameters of a model's adapter under their own names, as its checkpoint holds them. Borrows
/// `opened`.
///
/// Errors: as load_adapter.
state::TensorSource adapter_parameters(const OpenedModel& opened);

}  // namespace parhelion::model
