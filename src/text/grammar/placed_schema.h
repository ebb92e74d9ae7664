#pragma once

#include "base/json.h"

#include <string_view>

namespace parhelion::text {

/// A JSON Schema as it must be to stand at `place` (a JSON pointer, such as `/properties/a`) within
/// another one: references into the document lead to where it stands then.
Json placed_schema(const Json& schema, std::string_view place);

/// One of several schemas, each a document of its own.
Json any_of_schemas(Json::Array schemas);

}  // namespace parhelion::text
