#pragma once

#include "base/error.h"

#include <cstddef>
#include <cstdint>

namespace parhelion {

/// Whether an error says that the input is at fault.
inline bool is_bad_input(ErrorKind kind) {
  return kind == ErrorKind::invalid || kind == ErrorKind::corrupt || kind == ErrorKind::unsupported;
}

}  // namespace parhelion

/// The entry of a fuzz target, called by libFuzzer or by seed_main.cpp: returns 0, or crashes on a
/// finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
