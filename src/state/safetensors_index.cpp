#include "state/safetensors_index.h"

#include "base/error.h"
#include "base/json.h"

#include <algorithm>

namespace parhelion::state {
namespace {

/// The shard's file name: one component, so that an index cannot reach other directories.
const std::string& shard_name(const Json& json, std::string_view tensor, std::string_view where) {
  ensure(json.is_string(), ErrorKind::corrupt, "{}: weight_map: '{}' is {}, expected string", where,
         tensor, json.type_name());
  const std::string& name = json.as_string(where);
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  ensure(plain, ErrorKind::corrupt,
         "{}: weight_map: '{}' lies in {}, expected a file name without a directory", where, tensor,
         write_json(json));
  return name;
}

}  // namespace

SafetensorsIndex parse_safetensors_index(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where, {.depth = 8});
  const Json* map = json.find("weight_map");
  ensure(map != nullptr && map->is_object(), ErrorKind::corrupt,
         "{}: weight_map is {}, expected object", where,
         map == nullptr ? "missing" : map->type_name());
  SafetensorsIndex index;
  for (const auto& [tensor, shard] : map->as_object(where))
    index[shard_name(shard, tensor, where)].push_back(tensor);
  for (auto& [shard, tensors] : index) std::ranges::sort(tensors);
  return index;
}

}  // namespace parhelion::state
