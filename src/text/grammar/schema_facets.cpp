#include "text/grammar/schema_facets.h"

#include "base/error.h"
#include "base/json.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace parhelion::text {
namespace {

using namespace std::string_view_literals;

constexpr std::array kAnnotations = {"discriminator"sv, "externalDocs"sv,    "xml"sv,
                                     "$comment"sv,      "$defs"sv,           "$id"sv,
                                     "$schema"sv,       "contentEncoding"sv, "contentMediaType"sv,
                                     "contentSchema"sv, "default"sv,         "definitions"sv,
                                     "deprecated"sv,    "description"sv,     "example"sv,
                                     "examples"sv,      "readOnly"sv,        "title"sv,
                                     "writeOnly"sv};
constexpr std::array kApplied = {"$ref"sv, "allOf"sv, "anyOf"sv, "oneOf"sv};

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> kTypeNames = {
    {{"null", json_type::kNull},
     {"boolean", json_type::kBoolean},
     {"integer", json_type::kInteger},
     {"number", json_type::kNumber},
     {"string", json_type::kString},
     {"array", json_type::kArray},
     {"object", json_type::kObject}}};

template <class Names>
bool is_schema_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reads the keywords of one part after the other into facets.
class FacetReader {
 public:
  FacetReader(const SchemaDocument& document, UnsupportedKeywords unsupported)
      : document_(document), unsupported_(unsupported) {}

  SchemaFacets read(const SchemaParts& parts) {
    for (const SchemaPart& part : parts) {
      if (part.schema->is_bool()) continue;
      for (const auto& [keyword, value] : part.schema->as_object("schema")) {
        read_keyword(*part.schema, keyword, value);
      }
    }
    if (!has_types_ && !facets_.values && meant_types_ != 0) facets_.types = meant_types_;
    // Members come in the order of properties, those that are required alone behind them.
    for (const SchemaPart& part : parts)
      if (const Json* required = part.schema->find("required")) read_required(*required);
    read_arrays(parts);
    read_objects(parts);
    return std::move(facets_);
  }

 private:
  using Reader = void (FacetReader::*)(const Json& value);
  struct Keyword {
    std::string_view name;
    std::uint8_t types;  // that it speaks of
    Reader reader;       // or null where a later pass reads it
  };

  void read_keyword(const Json& schema, std::string_view name, const Json& value) {
    static constexpr std::array<Keyword, 20> kKeywords = {{
        {"type", 0, &FacetReader::read_type},
        {"enum", 0, &FacetReader::read_enum},
        {"const", 0, &FacetReader::read_const},
        {"minimum", json_type::kNumber, &FacetReader::read_minimum},
        {"maximum", json_type::kNumber, &FacetReader::read_maximum},
        {"exclusiveMinimum", json_type::kNumber, &FacetReader::read_open_minimum},
        {"exclusiveMaximum", json_type::kNumber, &FacetReader::read_open_maximum},
        {"minLength", json_type::kString, &FacetReader::read_min_length},
        {"maxLength", json_type::kString, &FacetReader::read_max_length},
        {"pattern", json_type::kString, &FacetReader::read_pattern},
        {"format", json_type::kString, &FacetReader::read_format},
        {"minItems", json_type::kArray, &FacetReader::read_min_items},
        {"maxItems", json_type::kArray, &FacetReader::read_max_items},
        {"prefixItems", json_type::kArray, nullptr},
        {"items", json_type::kArray, nullptr},
        {"properties", json_type::kObject, &FacetReader::read_properties},
        {"additionalProperties", json_type::kObject, nullptr},
        {"required", json_type::kObject, nullptr},
        {"minProperties", json_type::kObject, &FacetReader::read_min_properties},
        {"maxProperties", json_type::kObject, &FacetReader::read_max_properties},
    }};
    const auto keyword = std::find_if(kKeywords.begin(), kKeywords.end(),
                                      [&](const Keyword& one) { return one.name == name; });
    if (keyword != kKeywords.end()) {
      meant_types_ |= keyword->types;
      if (keyword->reader != nullptr) (this->*keyword->reader)(value);
      return;
    }
    const bool is_nested_id = name == "$id" && &schema != &document_.root();
    if (is_schema_name(kApplied, name) || name.starts_with("x-")) return;
    if (is_schema_name(kAnnotations, name) && !is_nested_id) return;
    const bool says_nothing = name == "uniqueItems" && value == Json(false);
    if (unsupported_ == UnsupportedKeywords::ignore || says_nothing) return;
    document_.refuse(ErrorKind::unsupported, schema, "keyword {} is not supported", name);
  }

  std::uint8_t type_named(const Json& name) {
    const auto* known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                     [&](const auto& type) { return name == Json(type.first); });
    if (known == kTypeNames.end()) document_.refuse(ErrorKind::invalid, name, "no type of JSON");
    return known->second;
  }

  void read_type(const Json& value) {
    std::uint8_t types = 0;
    if (!value.is_array()) {
      types = type_named(value);
    } else {
      for (const Json& name : value.as_array("type")) types |= type_named(name);
    }
    facets_.types &= types;
    has_types_ = true;
  }

  void read_enum(const Json& value) {
    std::vector<const Json*> values;
    for (const Json& one : array_of(value)) values.push_back(&one);
    keep_values(values);
  }
  void read_const(const Json& value) { keep_values({&value}); }

  void keep_values(const std::vector<const Json*>& values) {
    if (!facets_.values) {
      facets_.values = values;
      return;
    }
    std::erase_if(*facets_.values, [&](const Json* known) {
      return std::none_of(values.begin(), values.end(),
                          [&](const Json* value) { return same_json(*known, *value); });
    });
  }

  Bound bound_of(const Json& value, bool is_open) {
    if (!value.is_number()) document_.refuse(ErrorKind::invalid, value, "expected a number");
    const std::optional<Decimal> decimal = decimal_of(value);
    if (!decimal || !fits_number_digits(*decimal)) {
      document_.refuse(ErrorKind::unsupported, value,
                       "a bound with more than {} digits before the point or {} behind it",
                       kIntegerDigits, kFractionDigits);
    }
    return {*decimal, is_open};
  }

  void raise_lower(const Bound& bound) {
    std::optional<Bound>& lower = facets_.range.lower;
    const bool is_higher =
        !lower || bound.value > lower->value || (bound.value == lower->value && bound.is_open);
    if (is_higher) lower = bound;
  }
  void drop_upper(const Bound& bound) {
    std::optional<Bound>& upper = facets_.range.upper;
    const bool is_lower =
        !upper || bound.value < upper->value || (bound.value == upper->value && bound.is_open);
    if (is_lower) upper = bound;
  }
  void read_minimum(const Json& value) { raise_lower(bound_of(value, false)); }
  void read_maximum(const Json& value) { drop_upper(bound_of(value, false)); }
  void read_open_minimum(const Json& value) { raise_lower(bound_of(value, true)); }
  void read_open_maximum(const Json& value) { drop_upper(bound_of(value, true)); }

  std::int64_t count_of(const Json& value) {
    const std::optional<Decimal> decimal = value.is_number() ? decimal_of(value) : std::nullopt;
    const bool is_count = decimal && !decimal->is_negative && decimal->fraction.empty();
    if (!is_count) document_.refuse(ErrorKind::invalid, value, "expected a whole number from 0");
    if (decimal->integer.size() > kIntegerDigits) {
      document_.refuse(ErrorKind::exhausted, value, "a count above 10^{}", kIntegerDigits);
    }
    return decimal->integer.empty() ? 0 : std::stoll(decimal->integer);
  }
  void raise(std::int64_t& min, const Json& value) { min = std::max(min, count_of(value)); }
  void drop(std::optional<std::int64_t>& max, const Json& value) {
    const std::int64_t count = count_of(value);
    max = std::min(max.value_or(count), count);
  }
  void read_min_length(const Json& value) { raise(facets_.min_length, value); }
  void read_max_length(const Json& value) { drop(facets_.max_length, value); }
  void read_min_items(const Json& value) { raise(facets_.min_items, value); }
  void read_max_items(const Json& value) { drop(facets_.max_items, value); }
  void read_min_properties(const Json& value) { raise(facets_.min_properties, value); }
  void read_max_properties(const Json& value) { drop(facets_.max_properties, value); }

  void read_pattern(const Json& value) { add_text(facets_.patterns, value); }
  void read_format(const Json& value) { add_text(facets_.formats, value); }
  void add_text(std::vector<const Json*>& texts, const Json& value) {
    if (!value.is_string()) document_.refuse(ErrorKind::invalid, value, "expected a string");
    const bool is_new = std::none_of(texts.begin(), texts.end(),
                                     [&](const Json* known) { return *known == value; });
    if (is_new) texts.push_back(&value);
  }

  void read_required(const Json& value) {
    for (const Json& name : array_of(value)) {
      if (!name.is_string()) document_.refuse(ErrorKind::invalid, name, "expected a string");
      property(name.as_string("")).is_required = true;
    }
  }

  SchemaProperty& property(const std::string& name) {
    const auto [known, is_new] = property_index_.try_emplace(name, facets_.properties.size());
    if (is_new) facets_.properties.push_back({name, {}, false});
    return facets_.properties[known->second];
  }

  const Json::Array& array_of(const Json& value) {
    if (!value.is_array()) document_.refuse(ErrorKind::invalid, value, "expected an array");
    return value.as_array("");
  }
  const Json& schema_of(const Json& value) {
    const bool is_schema = value.is_object() || value.is_bool();
    if (!is_schema) document_.refuse(ErrorKind::invalid, value, "expected a schema");
    return value;
  }

  /// The schemas of each place: a place behind the prefix of a part falls under its items.
  void read_arrays(const SchemaParts& parts) {
    for (const SchemaPart& part : parts) {
      const Json* prefix = part.schema->find("prefixItems");
      const std::size_t size = prefix == nullptr ? 0 : array_of(*prefix).size();
      facets_.prefix.resize(std::max(facets_.prefix.size(), size));
    }
    for (const SchemaPart& part : parts) {
      const Json* prefix = part.schema->find("prefixItems");
      const Json* items = part.schema->find("items");
      const std::size_t size = prefix == nullptr ? 0 : array_of(*prefix).size();
      for (std::size_t i = 0; i < facets_.prefix.size(); ++i) {
        const Json* schema = i < size ? &array_of(*prefix)[i] : items;
        if (schema != nullptr) add_part(facets_.prefix[i], {&schema_of(*schema)});
      }
      if (items != nullptr) add_part(facets_.items, {&schema_of(*items)});
    }
  }

  /// A property falls in each part under its own schema, or under additionalProperties.
  void read_objects(const SchemaParts& parts) {
    bool says_other = false;
    for (const SchemaPart& part : parts) {
      const Json* other = part.schema->find("additionalProperties");
      if (other != nullptr) {
        says_other = true;
        if (schema_of(*other) == Json(false)) facets_.has_other_properties = false;
        add_part(facets_.other_properties, {other});
      }
      std::unordered_map<std::string_view, const Json*> own;
      if (const Json* properties = part.schema->find("properties")) {
        for (const auto& [name, schema] : properties->as_object("")) own.emplace(name, &schema);
      }
      for (SchemaProperty& one : facets_.properties) {
        const auto found = own.find(one.name);
        const Json* schema = found == own.end() ? other : found->second;
        if (schema != nullptr) add_part(one.parts, {schema});
      }
    }
    if (!says_other) facets_.has_other_properties = !names_properties_;
  }

  void read_properties(const Json& value) {
    if (!value.is_object()) document_.refuse(ErrorKind::invalid, value, "expected an object");
    for (const auto& [name, schema] : value.as_object("")) {
      schema_of(schema);
      property(name);
      names_properties_ = true;
    }
  }

  const SchemaDocument& document_;
  UnsupportedKeywords unsupported_;
  SchemaFacets facets_;
  std::unordered_map<std::string, std::size_t> property_index_;
  bool names_properties_ = false;
  bool has_types_ = false;
  std::uint8_t meant_types_ = 0;  // those that the keywords speak of
};

}  // namespace

const SchemaProperty* SchemaFacets::find_property(std::string_view name) const {
  const auto found =
      std::find_if(properties.begin(), properties.end(),
                   [&](const SchemaProperty& property) { return property.name == name; });
  return found == properties.end() ? nullptr : &*found;
}

void add_part(SchemaParts& parts, SchemaPart part) {
  if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
}

/// Adds what a part refers to. A schema that is there already holds as it is: one of its anyOf or
/// oneOf may have been chosen.
void add_followed(SchemaParts& parts, const Json& schema) {
  const bool is_there = std::any_of(parts.begin(), parts.end(),
                                    [&](const SchemaPart& part) { return part.schema == &schema; });
  if (!is_there) parts.push_back({&schema});
}

FlatSchema flatten_schema(const SchemaDocument& document, const SchemaParts& parts) {
  FlatSchema flat;
  for (const SchemaPart& part : parts) add_part(flat.parts, part);
  for (std::size_t i = 0; i < flat.parts.size(); ++i) {
    const Json& schema = *flat.parts[i].schema;
    const bool is_schema = schema.is_object() || schema.is_bool();
    if (!is_schema) document.refuse(ErrorKind::invalid, schema, "expected a schema");
    flat.is_impossible = flat.is_impossible || schema == Json(false);
    if (const Json* reference = schema.find("$ref")) {
      flat.follows_reference = true;
      add_followed(flat.parts, document.resolve(schema, *reference));
    }
    const Json* all = schema.find("allOf");
    if (all == nullptr) continue;
    if (!all->is_array()) document.refuse(ErrorKind::invalid, *all, "expected an array");
    for (const Json& one : all->as_array("")) add_followed(flat.parts, one);
  }
  return flat;
}

SchemaFacets read_facets(const SchemaDocument& document, const SchemaParts& parts,
                         UnsupportedKeywords unsupported) {
  return FacetReader(document, unsupported).read(parts);
}

std::optional<Decimal> decimal_of(const Json& number) { return parse_decimal(write_json(number)); }

bool same_json(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return decimal_of(a) == decimal_of(b);
  if (a.is_array() && b.is_array()) {
    const Json::Array& left = a.as_array("");
    const Json::Array& right = b.as_array("");
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_json);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  const Json::Object& members = a.as_object("");
  return members.size() == b.as_object("").size() &&
         std::all_of(members.begin(), members.end(), [&](const Json::Member& member) {
           const Json* other = b.find(member.first);
           return other != nullptr && same_json(member.second, *other);
         });
}

std::uint8_t type_of_json(const Json& value) {
  if (value.is_null()) return json_type::kNull;
  if (value.is_bool()) return json_type::kBoolean;
  if (value.is_string()) return json_type::kString;
  if (value.is_array()) return json_type::kArray;
  if (value.is_object()) return json_type::kObject;
  const std::optional<Decimal> decimal = decimal_of(value);
  return decimal && decimal->fraction.empty() ? json_type::kInteger : json_type::kFraction;
}

}  // namespace parhelion::text
