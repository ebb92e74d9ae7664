#pragma once

#include "text/grammar/decimal_range.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/schema_document.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::text {

/// Types of JSON values as a set of flags. Integers are numbers too.
namespace json_type {
inline constexpr std::uint8_t kNull = 1;
inline constexpr std::uint8_t kBoolean = 2;
inline constexpr std::uint8_t kInteger = 4;
inline constexpr std::uint8_t kFraction = 8;  ///< numbers that are no integers
inline constexpr std::uint8_t kNumber = kInteger | kFraction;
inline constexpr std::uint8_t kString = 16;
inline constexpr std::uint8_t kArray = 32;
inline constexpr std::uint8_t kObject = 64;
inline constexpr std::uint8_t kAll = 127;
}  // namespace json_type

/// A schema that has to hold, maybe without those of its keywords that were dealt with.
struct SchemaPart {
  const Json* schema = nullptr;
  bool without_any_of = false;
  bool without_one_of = false;
  auto operator<=>(const SchemaPart&) const = default;
};
/// Schemas that have to hold all at once; in the order of the document, without repetitions.
using SchemaParts = std::vector<SchemaPart>;

struct SchemaProperty {
  std::string name;
  SchemaParts parts;
  bool is_required = false;
};

/// What the keywords of several schemas say together.
struct SchemaFacets {
  std::uint8_t types = json_type::kAll;
  std::optional<std::vector<const Json*>> values;  ///< from enum and const
  DecimalRange range;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> max_length;
  std::vector<const Json*> patterns;
  std::vector<const Json*> formats;
  std::int64_t min_items = 0;
  std::optional<std::int64_t> max_items;
  std::vector<SchemaParts> prefix;
  SchemaParts items;                       ///< behind the prefix
  std::vector<SchemaProperty> properties;  ///< also those that are required alone
  std::int64_t min_properties = 0;
  std::optional<std::int64_t> max_properties;
  bool has_other_properties = true;
  SchemaParts other_properties;

  const SchemaProperty* find_property(std::string_view name) const;
};

/// Adds a schema to parts unless it is there.
void add_part(SchemaParts& parts, SchemaPart part);

/// Follows $ref and allOf until only other keywords are left. `follows_reference` tells whether
/// there was a $ref.
struct FlatSchema {
  SchemaParts parts;
  bool is_impossible = false;  ///< one part is `false`
  bool follows_reference = false;
};
FlatSchema flatten_schema(const SchemaDocument& document, const SchemaParts& parts);

/// Reads the keywords of flat parts but $ref, allOf, anyOf and oneOf.
///
/// Errors: as of compile_json_schema.
SchemaFacets read_facets(const SchemaDocument& document, const SchemaParts& parts,
                         UnsupportedKeywords unsupported);

/// Whether two JSON values are equal, where 1 equals 1.0.
bool same_json(const Json& a, const Json& b);
/// The decimal value of a number.
std::optional<Decimal> decimal_of(const Json& number);
/// The flag of a value's type.
std::uint8_t type_of_json(const Json& value);

}  // namespace parhelion::text
