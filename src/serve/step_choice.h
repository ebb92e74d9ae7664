#pragma once

#include "serve/step.h"

#include <cstddef>
#include <optional>
#include <span>

namespace parhelion::serve {

/// The first instance of a set that covers the rows and their edits. One of as many tokens as rows
/// decodes: its row r is token r, so it covers only rows of one new token each.
std::optional<std::size_t> covering_instance(const InstanceSet& set, std::span<const StepRow> rows);

/// The most queries that one step of any instance answers.
std::int64_t most_queries(const InstanceSet& instances);

/// The most new tokens that one row can have in an instance.
std::int64_t most_row_tokens(const ir::Capacities& instance);

}  // namespace parhelion::serve
