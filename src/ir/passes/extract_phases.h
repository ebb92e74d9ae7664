#pragma once

#include "ir/program.h"

#include <set>
#include <string>

namespace parhelion::ir {

/// The ops of some phases as a program of their own, called `name`, over the buffers that they
/// touch. Buffers begin with the content that the other ops left, as version 0.
///
/// Errors: invalid if an op reads an activation that no op of these phases gives.
Program extract_phases(const Program& program, const std::set<Phase>& phases, std::string name);

}  // namespace parhelion::ir
