#pragma once

#include "ir/program.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::ir {

/// Memory of one lifetime.
enum class ArenaKind : std::uint8_t {
  persistent,  ///< named buffers
  slot,        ///< activations that cross phases: one for each microbatch in flight
  transient,   ///< all other activations
};
inline constexpr std::size_t kArenaCount = 3;
std::string_view name(ArenaKind arena);

/// Offsets are multiples of this many bytes.
inline constexpr std::int64_t kArenaAlignment = 64;

/// Where a value lies. Without bytes it has no storage.
struct Range {
  ArenaKind arena = ArenaKind::persistent;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool operator==(const Range&) const = default;
};

/// Where all values of an instance lie. Peaks and bounds are by arena.
struct MemoryPlan {
  std::vector<Range> of_value;  ///< by value id minus 1
  std::array<std::int64_t, kArenaCount> peak_bytes = {};
  std::array<std::int64_t, kArenaCount> lower_bound_bytes = {};  ///< most live bytes at one op
  bool operator==(const MemoryPlan&) const = default;
};

/// Plans an instance which runs in its op order.
///
/// All versions of a buffer share one range, as do the values of tied activations. An activation
/// keeps its range from the op that gives it to its last reader; the outputs of an op overlap none
/// of its inputs.
///
/// Errors: bug if a dim is symbolic, exhausted if the bytes do not fit in 64 bits.
MemoryPlan plan_memory(const Program& instance);

/// Checks a plan against its program by a sweep of its own, trusting nothing in the plan. The
/// program has passed `verify`.
///
/// Errors: corrupt, naming the values.
void verify_memory(const Program& instance, const MemoryPlan& plan);

/// Peak and lower bound of each arena, and the biggest values.
std::string print(const MemoryPlan& plan, const Program& instance);

}  // namespace parhelion::ir
