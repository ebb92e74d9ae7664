#pragma once

#include <string>
#include <string_view>

namespace parhelion::model {

/// GGUF's name of a dense decoder's parameter: `model.layers.3.mlp.up_proj.weight` is
/// `blk.3.ffn_up.weight`.
///
/// Errors: bug for other names.
std::string gguf_name(std::string_view parameter);

}  // namespace parhelion::model
