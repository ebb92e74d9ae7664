#pragma once

#include "text/grammar/schema_facets.h"

namespace parhelion::text {

/// Whether it can be told that no value is valid under both: by types, by values of enum and const,
/// by a property that both require, or that one requires and the other does not have. Takes what it
/// compares from `work`.
///
/// Errors: exhausted where `work` is used up.
bool are_disjoint(const SchemaDocument& document, const SchemaParts& a, const SchemaParts& b,
                  std::int64_t& work);

}  // namespace parhelion::text
