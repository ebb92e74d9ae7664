#pragma once

#include <cstdint>
#include <vector>

namespace parhelion::exec::cuda {

/// Most classes that `length_classes` gives.
inline constexpr int kMostLengthClasses = 12;

/// Most numbers that `slot_choices` gives.
inline constexpr int kMostSlotChoices = 6;

/// Lengths of documents, (shortest, longest], that one call takes in `slots` slots.
struct LengthClass {
  std::int64_t slots = 0;
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
  bool operator==(const LengthClass&) const = default;
};

/// Parts documents of at most `longest` tokens, `tokens` together, so that slots * longest *
/// longest of each class stays near 2 * tokens * longest, or below `least`: few documents are long.
/// Longest first; documents within a class are as many as can be.
std::vector<LengthClass> length_classes(std::int64_t tokens, std::int64_t documents,
                                        std::int64_t longest, std::int64_t least);

/// Ascending numbers of slots up to `slots`, of which a run takes the first that hold its
/// documents: a library spends time on idle slots.
std::vector<std::int64_t> slot_choices(std::int64_t slots);

}  // namespace parhelion::exec::cuda
