#pragma once

#include "text/grammar/grammar.h"

#include <cstdint>
#include <string_view>

namespace parhelion {
class Json;
}

namespace parhelion::text {

/// The white space of JSON texts. It is bounded: nobody can write spaces for ever.
enum class JsonSpaces : std::uint8_t {
  one,   ///< one space may stand behind each colon and comma, as the writer likes
  none,  ///< there is none
};

enum class JsonRoot : std::uint8_t { value, object };

/// What becomes of schema keywords that are not supported and would change what is accepted.
enum class UnsupportedKeywords : std::uint8_t { refuse, ignore };

struct SchemaOptions {
  JsonSpaces spaces = JsonSpaces::one;
  UnsupportedKeywords unsupported = UnsupportedKeywords::refuse;
  GrammarLimits limits = {};
};

/// Any JSON value or any object.
Grammar compile_json(JsonRoot root, JsonSpaces spaces = JsonSpaces::one);

/// The JSON texts that a JSON Schema accepts, in the subset and the form of docs/text/grammar.md:
/// whatever the grammar allows is valid under the schema, members come in the order of the schema.
///
/// Errors: invalid, with the path, if it is no schema, or if nothing is valid under it;
/// unsupported,
///         with the path, for keywords and combinations that are left out; exhausted if it passes a
///         limit.
Grammar compile_json_schema(const Json& schema, const SchemaOptions& options = {});
/// The same of a schema's text. Errors also: corrupt if it is no JSON.
Grammar compile_json_schema_text(std::string_view schema, const SchemaOptions& options = {});

}  // namespace parhelion::text
