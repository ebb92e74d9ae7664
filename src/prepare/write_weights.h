#pragma once

#include "model/open.h"
#include "prepare/compose.h"
#include "prepare/weight_store.h"

#include <functional>
#include <string>
#include <vector>

namespace parhelion::prepare {

/// Converts every parameter of a contract's programs to the type that they have, and stores it, but
/// for those that the store has; gives the ledger. A tensor of the source and what it is made into
/// are all that is in memory, the latter in pieces. `is_wanted` is asked again and again.
///
/// Errors: as model::load_parameters; invalid, by name, if a norm or a bias or the scale of a block
///         is not finite, if a value does not fit the type, or once `is_wanted` says no.
std::vector<contract::PrecisionEntry> write_weights(const model::OpenedModel& opened,
                                                    const contract::Contract& contract,
                                                    AdapterUse adapter, WeightStore& store,
                                                    const std::function<bool()>& is_wanted);

/// How many weights became what, and the largest error of each, a line each.
std::string summarize(const std::vector<contract::PrecisionEntry>& ledger);

}  // namespace parhelion::prepare
