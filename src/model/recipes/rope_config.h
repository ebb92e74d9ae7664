#pragma once

#include "ir/ops/rope.h"
#include "model/recipes/config_keys.h"

namespace parhelion::model {

/// Base and scaling of the rotary embedding, from `rope_theta` and `rope_scaling` or else from
/// `rope_parameters`, as Transformers 4 and 5 write them. Positions and dim are left open.
///
/// Errors: unsupported for scalings other than default, linear and llama3; as ConfigKeys.
ir::RopeTable rope_from_config(ConfigKeys& keys);

/// Adds the members that give `rope` back, as Transformers 4 writes them and 5 reads them too.
void rope_to_config(const ir::RopeTable& rope, Json::Object& members);

}  // namespace parhelion::model
