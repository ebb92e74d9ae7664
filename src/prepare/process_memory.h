#pragma once

#include <cstdint>

namespace parhelion::prepare {

/// Memory that this process holds for itself now, mapped files apart; 0 where the system does not
/// tell.
std::int64_t own_memory_bytes();

}  // namespace parhelion::prepare
