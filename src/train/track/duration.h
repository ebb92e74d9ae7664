#pragma once

#include <chrono>
#include <string>

namespace parhelion::train {

/// A duration for people: `850ms`, `4.2s`, `45s`, `3m12s`, `1h02m`, `2d03h`; `?` if it is negative
/// or not finite.
std::string duration_text(std::chrono::duration<double> duration);

}  // namespace parhelion::train
