#pragma once

#include "text/grammar/automaton.h"

#include <cstdint>
#include <vector>

namespace parhelion::text {

/// A group for each state, such that states of a group allow the same texts of up to `bytes` bytes
/// in the same rule: a long counted repetition has few groups. Groups are numbered from 0.
std::vector<std::int32_t> group_states(const Automaton& automaton, std::int64_t bytes);

}  // namespace parhelion::text
