#include "text/grammar/schema_disjoint.h"

#include <algorithm>

namespace parhelion::text {
namespace {

constexpr int kDisjointDepth = 4;

struct Comparison {
  const SchemaDocument& document;
  std::int64_t& work;

  void charge(std::size_t steps) const {
    work -= static_cast<std::int64_t>(steps);
    if (work < 0)
      document.refuse(ErrorKind::exhausted, document.root(),
                      "alternatives of oneOf take too long to compare; use anyOf");
  }
};

bool facets_are_disjoint(const Comparison& comparison, const SchemaParts& a, const SchemaParts& b,
                         int depth);

std::size_t values_of(const SchemaFacets& facets) {
  return facets.values ? facets.values->size() : 0;
}

/// The types that values may have.
std::uint8_t possible_types(const SchemaFacets& facets) {
  if (!facets.values) return facets.types;
  std::uint8_t types = 0;
  for (const Json* value : *facets.values) types |= type_of_json(*value);
  return types & facets.types;
}

bool values_are_disjoint(const SchemaFacets& a, const SchemaFacets& b) {
  if (!a.values || !b.values) return false;
  return std::none_of(a.values->begin(), a.values->end(), [&](const Json* left) {
    return std::any_of(b.values->begin(), b.values->end(),
                       [&](const Json* right) { return same_json(*left, *right); });
  });
}

/// Whether a property that `a` requires tells objects of both apart.
bool property_tells_apart(const Comparison& comparison, const SchemaFacets& a,
                          const SchemaFacets& b, int depth) {
  return std::any_of(a.properties.begin(), a.properties.end(), [&](const SchemaProperty& property) {
    if (!property.is_required) return false;
    comparison.charge(b.properties.size());
    const SchemaProperty* other = b.find_property(property.name);
    // What is not named is refused only where additionalProperties says so.
    const bool is_closed = !b.has_other_properties && !b.other_properties.empty();
    if (other == nullptr) return is_closed;
    return other->is_required &&
           facets_are_disjoint(comparison, property.parts, other->parts, depth - 1);
  });
}

bool facets_are_disjoint(const Comparison& comparison, const SchemaParts& a, const SchemaParts& b,
                         int depth) {
  if (depth == 0) return false;
  const SchemaDocument& document = comparison.document;
  const FlatSchema left = flatten_schema(document, a);
  const FlatSchema right = flatten_schema(document, b);
  if (left.is_impossible || right.is_impossible) return true;
  const auto read = [&](const FlatSchema& flat) {
    return read_facets(document, flat.parts, UnsupportedKeywords::ignore);
  };
  const SchemaFacets left_facets = read(left);
  const SchemaFacets right_facets = read(right);
  comparison.charge(1 + left_facets.properties.size() + right_facets.properties.size() +
                    values_of(left_facets) * values_of(right_facets));
  const std::uint8_t common = possible_types(left_facets) & possible_types(right_facets);
  if (common == 0 || values_are_disjoint(left_facets, right_facets)) return true;
  if (common != json_type::kObject) return false;
  return property_tells_apart(comparison, left_facets, right_facets, depth) ||
         property_tells_apart(comparison, right_facets, left_facets, depth);
}

}  // namespace

bool are_disjoint(const SchemaDocument& document, const SchemaParts& a, const SchemaParts& b,
                  std::int64_t& work) {
  return facets_are_disjoint({document, work}, a, b, kDisjointDepth);
}

}  // namespace parhelion::text
