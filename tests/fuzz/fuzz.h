#pragma once

#include <cstddef>
#include <cstdint>

/// The entry of a fuzz target, called by libFuzzer or by seed_main.cpp: returns 0, or crashes on a
/// finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
