#pragma once

#include "ir/ops/rope.h"
#include "model/recipes/config_keys.h"

namespace parhelion::model {

/// Base and scaling of the rotary embedding, from `rope_theta` and `rope_scaling` or else from
/// `rope_parameters`, as Transformers 4 and 5 write them. Positions and dim are left open.
///
/// Errors: unsupported for scalings other than default, linear and llama3; as ConfigKeys.
ir::RopeTable rope_from_config(ConfigKeys& keys);

}  // namespace parhelion::model
