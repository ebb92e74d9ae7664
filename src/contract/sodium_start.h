#pragma once

#include "base/error.h"

#include <sodium.h>

namespace parhelion::contract {

/// Lets libsodium choose its code for this processor. Only the first call does anything.
inline void start_sodium() {
  ensure(sodium_init() >= 0, ErrorKind::unsupported, "libsodium: cannot be initialised");
}

}  // namespace parhelion::contract
