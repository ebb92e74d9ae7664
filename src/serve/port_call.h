#pragma once

#include <exception>

namespace parhelion::serve {

/// Asks a port of a request. False: it threw, which is the trouble of that request alone.
template <class Call>
bool port_succeeds(const Call& call) {
  try {
    call();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace parhelion::serve
