#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// A sharded checkpoint's index: for each shard, in the order of their names, its tensors sorted.
using SafetensorsIndex = std::map<std::string, std::vector<std::string>>;

/// Reads the text of a `model.safetensors.index.json`; `where` names it in errors.
///
/// Errors: corrupt if it is no JSON, has no `weight_map` of strings, or names a file outside its
///         own directory.
SafetensorsIndex parse_safetensors_index(std::string_view text, std::string_view where);

}  // namespace parhelion::state
